package integration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Sweeps are 10 min apart: what is due is started because it is due, moved or not.
func TestRunStartsWhenItIsDue(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serve(t, d.url, rareSweeps())
	task := d.task(t, "NOOP", `{}`, nil)
	at := func(when string) int64 {
		return ask[int64](t, d, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, "+when+") RETURNING id", task)
	}
	const move = "UPDATE rowrun.task_run SET run_at = clock_timestamp() + $2::text::interval WHERE id = $1"
	d.await(t, at("now()"), "DONE") // and warms the replica up

	now, soon := at("clock_timestamp()"), at("clock_timestamp() + interval '1500 ms'")
	earlier, later, canceled := at("now() + interval '1 h'"), at("clock_timestamp() + interval '1500 ms'"), at("clock_timestamp() + interval '1500 ms'")
	d.exec(t, move, earlier, "1500 ms")
	d.exec(t, move, later, "3 s")
	d.exec(t, "SELECT rowrun.cancel_run($1)", canceled)
	for name, id := range map[string]int64{"exactly now": now, "soon": soon, "moved to an earlier time": earlier, "moved to a later time": later} {
		r := d.await(t, id, "DONE")
		late := r.StartedAt.Sub(ask[time.Time](t, d, "SELECT run_at FROM rowrun.task_run WHERE id = $1", id))
		t.Logf("%s: started %s after run_at", name, late)
		require.GreaterOrEqual(t, late, time.Duration(0), name)
		require.Less(t, late, 20*time.Second, "%s: sweeps are 10 min apart", name)
	}
	r := d.look(t, canceled)
	require.Equal(t, "CANCELED", r.Status)
	require.Nil(t, r.StartedAt)
	require.Equal(t, 6, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run"))
}
