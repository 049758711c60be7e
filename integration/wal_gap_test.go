package integration_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// allStatuses are those of a run that went well.
func allStatuses() []string { return []string{"PENDING", "AVAILABLE", "RUNNING", "DONE"} }

// The slot is dropped under the one that reads it: one gap, with its reason; what happened meanwhile is told by the
// rows, and the log goes on.
func TestDroppedSlotIsOneGap(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := launchScribe(t, d.url, newStream(t), []string{"--stream-source", "wal"})
	s.log.await(t, 1, logFromWAL)
	code, out := rowrun(t, []string{"DATABASE_URL=" + d.url}, "stream", "drop-slot")
	require.Equal(t, 1, code)
	require.Contains(t, out, "is in use")

	storetest.DropSlots(t, d.url)
	during := d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	eventually(t, patience, "a gap", func() bool {
		_, gaps := s.stream.written(t)
		return len(gaps) > 0
	})
	after := d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	eventually(t, patience, "the lines after it", func() bool { return len(s.stream.of(t, after.ID)) >= 4 })
	require.Equal(t, allStatuses(), s.stream.of(t, after.ID))
	require.Equal(t, allStatuses(), s.stream.of(t, during.ID))
	_, gaps := s.stream.written(t)
	require.Equal(t, []string{"the replication slot was missing"}, gaps)

	s.signal(t, syscall.SIGTERM)
	require.Zero(t, s.wait(t))
	code, out = rowrun(t, []string{"DATABASE_URL=" + d.url}, "stream", "drop-slot")
	require.Zero(t, code, out)
	require.Contains(t, out, "dropped")
}

// More is written than a slot may hold back, while the replica that reads it is frozen: the server takes the slot's log
// away. One gap, with its reason; all that happened meanwhile is told by the rows, and a new slot goes on.
func TestSlotThatLostItsLogIsOneGap(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	d := openDatabase(t, storetest.On(t, cluster))
	d.exec(t, "ALTER SYSTEM SET max_slot_wal_keep_size = '16MB'")
	d.exec(t, "SELECT pg_reload_conf()")
	s := launchScribe(t, d.url, newStream(t), rareSweeps())
	s.log.await(t, 1, logFromWAL)
	task := d.task(t, "NOOP", `{}`, nil)
	before := d.await(t, d.run(t, task), "DONE")
	eventually(t, patience, "its lines", func() bool { return len(s.stream.of(t, before.ID)) == 4 })

	s.freeze(t)
	during := list[int64](t, d, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 50) RETURNING id", task)
	d.exec(t, "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1", during[0])
	d.exec(t, "CREATE TABLE noise (n int)")
	eventually(t, patience, "the fault: a lost slot", func() bool {
		d.exec(t, "INSERT INTO noise VALUES (1)")
		d.exec(t, "SELECT pg_switch_wal()")
		d.exec(t, "CHECKPOINT")
		return ask[bool](t, d, `SELECT wal_status = 'lost' FROM pg_replication_slots s, rowrun.deployment d
			WHERE s.slot_name = 'rowrun_stream_' || left(d.id::text, 8)`)
	})
	s.signal(t, syscall.SIGCONT)

	for _, id := range during[1:] {
		d.await(t, id, "DONE")
	}
	eventually(t, patience, "a gap", func() bool {
		_, gaps := s.stream.written(t)
		return len(gaps) > 0
	})
	s.log.await(t, 2, logFromWAL)
	after := d.await(t, d.run(t, task), "DONE")
	eventually(t, patience, "the lines after it", func() bool { return len(s.stream.of(t, after.ID)) >= 4 })
	canceled := []string{"PENDING", "AVAILABLE", "CANCELED"}
	if ask[bool](t, d, "SELECT started_at IS NOT NULL FROM rowrun.task_run WHERE id = $1", during[0]) { // a claim was under way at the freeze
		canceled = []string{"PENDING", "AVAILABLE", "RUNNING", "CANCELED"}
	}
	require.Equal(t, canceled, s.stream.of(t, during[0]))
	for _, id := range append(during[1:], after.ID) {
		require.Equal(t, allStatuses(), s.stream.of(t, id))
	}
	_, gaps := s.stream.written(t)
	require.Equal(t, []string{"the server has removed log that the replication slot needed"}, gaps)
}

// A standby is promoted in the midst of work, with what it had received: it has no slot, and a timeline of its own. One
// gap says so, and every run that the new primary knows is told up to where it came.
func TestPromotedStandbyIsOneGap(t *testing.T) {
	t.Parallel()
	primary, rng := storetest.OwnCluster(t), chance(t)
	url := storetest.On(t, primary)
	d := openDatabase(t, url)
	d.exec(t, "ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'")
	d.exec(t, "SELECT pg_reload_conf()")
	standby := newStandby(t, primary)
	d = openDatabase(t, bothHosts(t, url, standby.Port()))
	out := newStream(t)
	lease := []string{"--heartbeat-interval", "1s", "--stale-after", "10s", "--stale-sweep-interval", "1s"}
	var all []*scribe
	for range 2 {
		all = append(all, launchScribe(t, d.url, out, lease))
	}
	writer(t, d, all).log.await(t, 1, logFromWAL)
	stop := users(t, d, rng)
	defer stop()
	eventually(t, patience, "some runs", moreRuns(t, d, 100))

	before := ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run")
	primary.Kill()
	t.Cleanup(func() { require.NoError(t, primary.Restart(context.Background())) }) // its database is dropped there
	promote(t, standby)
	eventually(t, patience, "runs on the new primary", moreRuns(t, d, before+100))
	eventually(t, patience, "a gap", func() bool {
		_, gaps := out.written(t)
		return len(gaps) > 0
	})
	writer(t, d, all)
	stop()
	endAll(t, d, all)
	_, gaps := out.written(t)
	require.Equal(t, []string{"the server's timeline changed from 1 to 2"}, gaps)

	told := map[int64]map[string]bool{}
	behind := 0 // lines from the log of the new primary
	for _, l := range out.lines(t) {
		if l.Event == "stream.gap" {
			require.NotEmpty(t, l.LastLSN)
			behind = 0
			continue
		}
		if l.LSN != nil {
			behind++
		}
		if told[l.RunID] == nil {
			told[l.RunID] = map[string]bool{}
		}
		told[l.RunID][l.To] = true
	}
	require.Positive(t, behind)
	reached := requireTold(t, d, told)
	t.Logf("%d transitions, of which %d came from the new primary's log", reached, behind)
}
