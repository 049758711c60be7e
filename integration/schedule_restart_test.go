package integration_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is changed or disabled, while a replica is up or while none is, holds after a restart: nothing starts by what the
// schedule was, and a tick is run once.
func TestChangedAndDisabledSchedulesOverRestarts(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	names := []string{"kept", "changed", "changed while down", "disabled", "disabled while down", "enabled while down"}
	task := map[string]int64{}
	for _, name := range names {
		task[name] = d.task(t, "NOOP", `{}`, columns{"name": name, "schedule": "@every 200ms"})
	}
	const change = "UPDATE rowrun.task SET schedule = $2 WHERE id = $1"
	d.exec(t, change, task["enabled while down"], "-")
	// What is AVAILABLE already when its schedule changes is left alone: runs count that became so later.
	ran := func(name, since string) int {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE task_id = $1 AND status = 'DONE' AND available_at > $2::text::timestamptz",
			task[name], since)
	}
	const ever = "-infinity"
	down := func(r *replica) {
		r.signal(t, syscall.SIGTERM)
		require.Zero(t, r.wait(t))
	}
	now := func() string { return ask[string](t, d, "SELECT clock_timestamp()::text") }

	first := serve(t, d.url, rareSweeps())
	eventually(t, patience, "a run of each", func() bool {
		for _, name := range names[:5] {
			if ran(name, ever) == 0 {
				return false
			}
		}
		return true
	})
	d.exec(t, change, task["changed"], "0 0 1 1 *")
	d.exec(t, change, task["disabled"], "-")
	down(first)
	d.exec(t, change, task["changed while down"], "@every 300ms")
	d.exec(t, change, task["disabled while down"], "-")
	d.exec(t, change, task["enabled while down"], "@every 200ms")
	restarted := now()

	second := serve(t, d.url, rareSweeps())
	eventually(t, patience, "runs after the restart", func() bool {
		return ran("kept", restarted) >= 5 && ran("changed while down", restarted) >= 3 && ran("enabled while down", restarted) >= 3
	})
	for _, name := range []string{"changed", "disabled", "disabled while down"} {
		require.Zero(t, ran(name, restarted), name)
	}
	down(second)
	for _, name := range names {
		waiting := ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE task_id = $1 AND status IN ('PENDING', 'AVAILABLE', 'RUNNING')", task[name])
		if name == "disabled" || name == "disabled while down" {
			require.Zero(t, waiting, name)
		} else {
			require.Equal(t, 1, waiting, name)
		}
	}
	require.Zero(t, ran("changed", restarted))
	require.True(t, ask[bool](t, d, `SELECT tick = make_timestamptz(extract(year FROM now() AT TIME ZONE 'UTC')::int + 1, 1, 1, 0, 0, 0, 'UTC')
		FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, task["changed"]))
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM (SELECT FROM rowrun.task_run
		WHERE tick IS NOT NULL AND status <> 'CANCELED' GROUP BY task_id, tick HAVING count(*) > 1) x`), "a tick twice")
	// Ticks of the new grid, and of no other.
	require.Zero(t, ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
		WHERE k.id = $1 AND r.available_at > $2::text::timestamptz AND mod((extract(epoch FROM r.tick - k.created_at) * 1000000)::bigint, 300000) <> 0`,
		task["changed while down"], restarted))
}
