package integration_test

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Three replicas, one of which is killed again and again at random: every tick of the grid has exactly one first
// attempt, none is missing, and its chain ends DONE.
func TestEachTickIsRunOnceWhileReplicasAreKilled(t *testing.T) {
	t.Parallel()
	const tasks = 4
	ticks := storetest.Count(25, 50) // of each task: 200 together
	d := newDatabase(t)
	rng := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 1)) //nolint:gosec // not a secret
	replicas := []*replica{serve(t, d.url, quickLease()), serve(t, d.url, quickLease()), serve(t, d.url, quickLease())}
	// The grid begins behind the INSERT, however long that takes: what has passed by its end is no tick of it.
	d.exec(t, `INSERT INTO rowrun.task (type, payload, schedule, starts_at, misfire, overlap, on_stale)
		SELECT 'NOOP', '{"sleep": "100ms"}', '@every 200ms', now() + interval '2 s', 'ALL', 'QUEUE', 'RETRY' FROM generate_series(1, $1)`, tasks)
	kills := 0
	done := func() int {
		return ask[int](t, d, `SELECT coalesce(min(n), 0)::int FROM (
			SELECT count(*) FILTER (WHERE r.status = 'DONE') AS n FROM rowrun.task k JOIN rowrun.task_run r ON r.task_id = k.id GROUP BY k.id) x`)
	}
	for killAt := time.Now().Add(3 * time.Second); done() < ticks; {
		eventually(t, patience, "the next kill, or the end", func() bool { return time.Now().After(killAt) || done() >= ticks })
		if done() < ticks && kills < storetest.Count(3, 12) {
			i := rng.IntN(len(replicas))
			replicas[i].kill(t)
			replicas[i] = serve(t, d.url, quickLease())
			kills++
		}
		killAt = time.Now().Add(time.Duration(300+rng.IntN(1500)) * time.Millisecond)
	}
	d.exec(t, `UPDATE rowrun.task SET schedule = '-'`)
	eventually(t, patience, "the end of the last runs", func() bool {
		return ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')`) == 0
	})
	require.Positive(t, kills)
	const grid = `SELECT format('run %s of task %s, %s, made at %s: tick %s, %s after the one before', x.id, x.task_id, x.status, x.created_at, x.tick, x.step) FROM (
		SELECT r.*, r.tick - lag(r.tick, 1, k.starts_at - interval '200 ms') OVER (PARTITION BY k.id ORDER BY r.tick) AS step
		FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
		WHERE r.attempt = 0 AND r.tick IS NOT NULL) x WHERE step <> interval '200 ms'`
	require.Empty(t, list[string](t, d, grid), "a tick twice, or none")
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM rowrun.job j JOIN rowrun.task_run r ON r.id = j.root_id
		WHERE j.status <> 'DONE' AND NOT (j.status = 'CANCELED' AND r.started_at IS NULL)`), "a tick that wasn't run")
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run a JOIN rowrun.task_run b
		ON a.task_id = b.task_id AND a.id < b.id AND a.finished_at > b.started_at`), "two runs of a task at once")
	t.Logf("%d kills, %d runs, %d of them retries", kills, ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run`),
		ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run WHERE attempt > 0`))
}

// An outage of six ticks, as one of an hour is for a schedule of ten minutes.
func TestWhatAnOutageLeavesIsTheMisfiresToSay(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	task := map[string]int64{}
	for misfire, overlap := range map[string]string{"SKIP": "SKIP", "ONCE": "SKIP", "ALL": "QUEUE"} { // a run may be under way when a tick passes
		task[misfire] = d.task(t, "NOOP", `{}`, columns{"name": misfire, "schedule": "@every 1s", "misfire": misfire, "overlap": overlap})
	}
	first := serve(t, d.url, quickLease())
	ran := func(since time.Time) bool {
		return ask[int](t, d, `SELECT count(DISTINCT task_id)::int FROM rowrun.task_run WHERE status = 'DONE' AND tick > $1`, since) == len(task)
	}
	eventually(t, patience, "a run of each", func() bool { return ran(time.Unix(0, 0)) })
	first.signal(t, syscall.SIGTERM)
	require.Zero(t, first.wait(t))
	gone := d.now(t)
	eventually(t, patience, "the end of the outage", func() bool { return d.now(t).After(gone.Add(6500 * time.Millisecond)) })
	back := d.now(t)
	serve(t, d.url, quickLease())
	eventually(t, patience, "another run of each", func() bool { return ran(back.Add(2 * time.Second)) })

	// Runs of ticks that were over a second old when the replica came back.
	missed := func(misfire string) int {
		return ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run
			WHERE task_id = $1 AND attempt = 0 AND started_at > $2 AND tick < $2::timestamptz - interval '1 s'`, task[misfire], back)
	}
	require.Zero(t, missed("SKIP"))
	require.Equal(t, 1, missed("ONCE"))
	require.GreaterOrEqual(t, missed("ALL"), 5)
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM (
		SELECT tick - lag(tick) OVER (ORDER BY tick) AS step FROM rowrun.task_run WHERE task_id = $1 AND attempt = 0) x WHERE step <> interval '1 s'`,
		task["ALL"]), "each tick, once")
}
