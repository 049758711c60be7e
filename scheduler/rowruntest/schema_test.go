package rowruntest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/scheduler/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// A role of tests is no superuser: it owns its database, and may make roles.
func TestOwnerOfADatabaseTestsInIt(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t) // roles belong to the server, and are this owner's
	admin := connect(t, cluster.SocketURL("postgres"))
	exec(t, admin, `CREATE ROLE tester LOGIN CREATEROLE`, `CREATE DATABASE tests OWNER tester`, `CREATE DATABASE others OWNER tester`)
	for _, name := range []string{"tests", "others"} {
		config, err := pgx.ParseConfig(cluster.SocketURL(name))
		require.NoError(t, err)
		url := fmt.Sprintf("host=%s port=%d dbname=%s user=tester", config.Host, config.Port, name)
		rowruntest.Schema(t, url)
		conn := connect(t, url)
		exec(t, conn, `SELECT rowrun.define_task('mail', 'MAIL')`)
		ids := enqueue(t, conn, client.Job{Task: "mail"})
		rowruntest.Work(t, url, rowruntest.Config{Executors: map[string]replica.Executor{"MAIL": each(func(*replica.TaskRun) error { return nil })}})
		rowruntest.In(t, conn).RequireEnded(ids[0], "DONE")
		require.NoError(t, conn.Close(context.WithoutCancel(t.Context())))
	}
}
