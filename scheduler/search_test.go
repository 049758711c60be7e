package scheduler_test

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// While a snapshot keeps what 40,000 runs have left behind, searches begin behind the last run that was found. A run that
// comes into the order before that place is started all the same, soon and not by a sweep.
func TestRunsBeforeThePlaceOfASearchAreStarted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, held := newClient(t, url), newClient(t, url)
	held.exec(`BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rowrun.plan`)
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id`, workType)
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 40000)`, task)
	for _, status := range []string{"AVAILABLE", "DONE"} { // each leaves its entries in the indexes behind
		c.exec(`BEGIN; SET LOCAL session_replication_role = replica; UPDATE rowrun.task_run SET cause = NULL, status = '` + status + `'; COMMIT`)
	}

	log := &storetest.Log{}
	startReplica(t, url, until(nil), func(config *scheduler.Config) { config.Log = zerolog.New(log) })
	insert := func(at string) int64 {
		return c.int(`INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, `+at+`) RETURNING id`, task)
	}
	for range 3 {
		require.Equal(t, "DONE", c.ends(insert("now()")))
	}
	require.Contains(t, log.From(0), "pass by many that they can't take", "searches read little: nothing is tested")
	for range 20 {
		after, before := insert("now()"), insert("now() - interval '1 hour'")
		require.Equal(t, "DONE", c.ends(before))
		require.Equal(t, "DONE", c.ends(after))
	}
}
