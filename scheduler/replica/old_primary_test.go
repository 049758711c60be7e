package replica_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/store/storetest"
)

// One connection that sees the promotion takes all others along: those of the store, and the one that listens.
func TestAReplicaLeavesAnOldPrimaryAsAWhole(t *testing.T) {
	t.Parallel()
	old := storetest.OwnCluster(t)
	database, err := pgx.ParseConfig(storetest.On(t, old))
	require.NoError(t, err)
	promoted := storetest.Successor(t, old)
	address, next := old.URL(database.Database), promoted.URL(database.Database)
	start(t, storetest.Both(t, next, address), func(context.Context, *replica.TaskRun) (replica.Result, error) {
		return replica.Result{}, nil
	}, nil)

	u := connect(t, address)
	u.becomes("notify", `SELECT coalesce(max(wake_source), '') FROM rowrun.replica_status`)
	const sessions = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'rowrun%'`
	require.NotEqual(t, "0", u.ask(sessions), "the fault: it works for the primary")
	successor := connect(t, next)
	successor.exec("SELECT pg_promote()")

	require.Equal(t, "1", u.ask(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'rowrun listen'`))
	u.becomes("0", sessions)
	successor.becomes("notify", `SELECT coalesce(max(wake_source), '') FROM rowrun.replica_status WHERE live`)
	successor.run("name", "'one'", 1)
	successor.becomes("1 DONE", ends)
	require.Equal(t, "0", u.ask(sessions))
}
