package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// An end that somebody's lock holds back doesn't keep a fenced replica from its next life: whoever holds it is named, and it is
// recorded when the lock is gone, or refused where somebody else has settled the run by then.
func TestAFencedReplicaGoesOnBesideAnEndBehindALock(t *testing.T) {
	t.Parallel()
	const settled = `SELECT FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY['FAILED'], ARRAY['{"code": "BY_HAND"}'::jsonb], ARRAY['NONE'])`
	for name, want := range map[string][]string{
		"recorded":          {"FAILED LOST_CONTACT", "FAILED STALE"}, // the next incarnation's sweep may be sooner
		"settled by others": {"FAILED BY_HAND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			r := startReplica(t, url, untilTold, func(c *scheduler.Config) {
				c.HeartbeatInterval, c.StaleAfter = 100*time.Millisecond, 5*time.Second
				c.DrainTimeout = 8 * time.Second
			})
			c, user := newClient(t, url), newClient(t, url)
			held := c.run("name", "'held'")
			poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held) == "RUNNING" })
			pid := user.int(`SELECT pg_backend_pid()`)
			user.exec(`BEGIN`)
			user.exec(`SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE`, held)
			id := r.Status().ReplicaID
			c.exec(`UPDATE rowrun.replica_heartbeat SET state = 'DEAD' WHERE replica_id = $1`, id)
			poll(t, "the fence", func() bool { return r.Status().Fenced })
			poll(t, "who holds the end is named", func() bool {
				all := r.Status().HoldUps
				return len(all) == 1 && all[0].PID == pid
			})
			require.Equal(t, id, r.Status().ReplicaID, "while it waits for that")
			poll(t, "a new incarnation", func() bool { s := r.Status(); return s.ReplicaID != "" && s.ReplicaID != id && !s.Fenced })

			if name != "recorded" {
				user.exec(settled, held)
			}
			user.exec(`COMMIT`)
			ended := c.ends(held)
			require.Contains(t, want, ended)
			r.stop() // nothing is left to record
			require.Equal(t, ended, c.ends(held))
		})
	}
}
