package integration_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// All replicas are killed, and what comes due while none lives is started after three leases in the order of the contract, at no
// more than the rate, by the replicas that are back and one that comes later. How far it is can be asked and is told.
func TestRecoveryAfterAllReplicasWereKilled(t *testing.T) {
	t.Parallel()
	const slots = 40
	runs, rate := storetest.Count(3000, 50_000), storetest.Count(400, 2500)
	d := newDatabase(t)
	recovering := []string{"--concurrency", "10", "--recovery-concurrency", "40", "--recovery-rate", ask[string](t, d, "SELECT $1::int::text", rate)}
	start := func(more ...string) *replica { return serve(t, d.url, quickLease(), rareSweeps(), recovering, more) }
	task := d.task(t, "NOOP", `{"sleep": "5ms"}`, nil)
	var killed []*replica
	for range 2 {
		killed = append(killed, start())
		d.await(t, d.run(t, task), "DONE")
	}
	for _, r := range killed {
		r.kill(t)
	}
	// A third is overdue at its INSERT, the others come due in the outage, each of three priorities; one more in a year.
	d.exec(t, `INSERT INTO rowrun.task_run (task_id, priority, run_at)
		SELECT $1, n % 3, clock_timestamp() + CASE WHEN n % 2 = 0 THEN interval '-1 h' ELSE interval '3 s' END - n * interval '50 us'
		FROM generate_series(1, $2::int) n`, task, runs)
	d.exec(t, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 year')`, task)
	eventually(t, patience, "three leases", func() bool {
		return ask[bool](t, d, "SELECT max(last_heartbeat) < clock_timestamp() - 3 * max(lease) FROM rowrun.replica_heartbeat")
	})
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run WHERE run_at > clock_timestamp() AND run_at < now() + interval '1 day'`))
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM rowrun.recovery`))

	back := []*replica{start("--http-addr", "127.0.0.1:0"), start()}
	for _, r := range back {
		r.log.await(t, 1, "replica takes part in a recovery")
	}
	type progress struct {
		Backlog      int64      `json:"backlog"`
		Remaining    int64      `json:"remaining"`
		Started      int64      `json:"started"`
		Rate         float64    `json:"rate"`
		EstimatedEnd *time.Time `json:"estimated_end"`
	}
	var seen []progress
	told := func() *progress {
		code, out := rowrun(t, []string{"DATABASE_URL=" + d.url}, "status", "-o", "json")
		require.Zero(t, code, out)
		var status struct {
			Problems []string  `json:"problems"`
			Recovery *progress `json:"recovery"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &status), out)
		if status.Recovery != nil {
			require.Contains(t, strings.Join(status.Problems, "\n"), "overdue runs are left")
		}
		return status.Recovery
	}
	late := false
	ahead := math.Inf(-1)
	eventually(t, 5*patience, "the end of the recovery", func() bool {
		// What is seen is read before the clock: no more has started than the rate allows by then, with nothing saved up before.
		ahead = max(ahead, ask[float64](t, d, `SELECT count(*) - date_part('epoch', clock_timestamp() - (SELECT min(began_at) FROM rowrun.recovery)) * $1::float8
			FROM rowrun.task_run WHERE id > 2 AND started_at IS NOT NULL`, rate))
		now := told()
		if now == nil {
			return ask[bool](t, d, `SELECT ended_at IS NOT NULL FROM rowrun.recovery`)
		}
		seen = append(seen, *now)
		if !late && now.Started > 0 {
			late = true
			start().log.await(t, 1, "replica takes part in a recovery")
		}
		return false
	})
	require.True(t, late)
	first, last := seen[0], seen[len(seen)-1]
	require.EqualValues(t, runs, first.Backlog)
	require.Less(t, last.Remaining, first.Backlog)
	require.NotNil(t, last.EstimatedEnd)
	require.Positive(t, last.Rate)
	for i := range seen[1:] {
		require.LessOrEqual(t, seen[i+1].Remaining, seen[i].Remaining)
	}
	eventually(t, patience, "all ends", func() bool {
		return ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run WHERE status = 'DONE'`) == runs+2
	})
	require.Equal(t, 1, ask[int](t, d, `SELECT count(*)::int FROM rowrun.recovery`))
	events := list[string](t, d, `SELECT event FROM rowrun.stream_note ORDER BY id`)
	require.Equal(t, "recovery.began", events[0])
	require.Equal(t, "recovery.ended", events[len(events)-1])

	// The order: each run starts near its place; batches of three replicas may change places, and one that doesn't get to its statement for a
	// third of a second falls behind by what the others start meanwhile.
	require.LessOrEqual(t, ask[int64](t, d, `SELECT max(abs(due - began)) FROM (
		SELECT row_number() OVER (ORDER BY priority DESC, run_at, id) AS due, row_number() OVER (ORDER BY started_at, priority DESC, run_at, id) AS began
		FROM rowrun.task_run WHERE id > 2 AND status = 'DONE') x`), int64(2*3*slots+rate/3))
	// The rate: no start is ahead of it from the beginning, whenever that was looked at. In no stretch of time more than it allows and the
	// bucket holds, a tenth of a second's; there a claim follows its grant by what the machine takes, for which a third of a second is allowed.
	require.LessOrEqual(t, ahead, 1.0)
	times := list[float64](t, d, `SELECT date_part('epoch', started_at - min(started_at) OVER ()) FROM rowrun.task_run
		WHERE id > 2 AND started_at IS NOT NULL ORDER BY started_at`)
	least, most := 0.0, 0.0
	for i, at := range times {
		least = min(least, float64(i)-float64(rate)*at)
		most = max(most, float64(i+1)-float64(rate)*at-least)
	}
	t.Logf("%d starts in %.1f s at a rate of %d/s: at most %.0f ahead of it", len(times), times[len(times)-1], rate, most)
	require.LessOrEqual(t, most, 0.43*float64(rate))
	for _, r := range back {
		r.log.await(t, 1, "recovery ended")
	}
	eventually(t, patience, "the slots of other times", func() bool {
		return ask[int](t, d, `SELECT max(concurrency)::int FROM rowrun.replica_heartbeat WHERE state = 'ACTIVE'`) == 10
	})
}
