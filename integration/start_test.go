package integration_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// refuseServe proves that serve ends with this code and says these words.
func refuseServe(t *testing.T, databaseURL string, code int, words []string, args ...string) {
	t.Helper()
	got, output := rowrun(t, []string{"DATABASE_URL=" + databaseURL}, append([]string{"serve", "--http-addr", "off"}, args...)...)
	require.Equal(t, code, got, "%v: %s", args, output)
	for _, word := range words {
		require.Contains(t, output, word)
	}
	if config, err := pgx.ParseConfig(databaseURL); err == nil && config.Password != "" {
		require.NotContains(t, output, config.Password)
	}
}

func TestWrongUseEndsWithTwo(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	refuseServe(t, d.url, 2, []string{"--nonsense"}, "--nonsense")
	refuseServe(t, d.url, 2, []string{"--stale-after", "soon", "accepted: a duration"}, "--stale-after", "soon")
	refuseServe(t, d.url, 2, []string{"--stale-after", "accepted: at least 3"}, "--stale-after", "1s")
	refuseServe(t, d.url, 2, []string{"databses", "accepted: databases, databases_from, commands"}, configFile(t, "databses: {}")...)
	refuseServe(t, "", 2, []string{"no database given", "rowrun dev"})
	code, output := rowrun(t, []string{"DATABASE_URL=" + d.url, "ROWRUN_CONCURRENCY=many"}, "serve")
	require.Equal(t, 2, code, output)
	require.Contains(t, output, "ROWRUN_CONCURRENCY")
	code, output = rowrun(t, nil, "surf")
	require.Equal(t, 2, code, output)
}

func TestServeWithoutSchemaSaysWhatToDo(t *testing.T) {
	t.Parallel()
	refuseServe(t, storetest.Empty(t), 1, []string{"no schema of Rowrun's", "rowrun migrate up"})
}

func TestServeWaitsForItsDatabaseAndRefusesAStandby(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	address := storetest.On(t, cluster)
	require.NoError(t, cluster.Halt(t.Context()))
	down(t, address)

	r := launch(t, address, rareSweeps())
	r.log.await(t, 1, logWaiting)
	require.NoError(t, cluster.Restart(t.Context()))
	r.log.await(t, 1, logListening)
	d := openDatabase(t, address)
	d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	r.signal(t, syscall.SIGTERM)
	require.Zero(t, r.wait(t))

	data := ask[string](t, d, "SHOW data_directory")
	require.NoError(t, cluster.Halt(t.Context()))
	require.NoError(t, os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644)) //nolint:gosec // the server has another user
	require.NoError(t, cluster.Restart(t.Context()))
	d.pool.Reset()
	require.True(t, ask[bool](t, d, "SELECT pg_is_in_recovery()"), "the fault: a standby")
	refuseServe(t, address, 1, []string{"standby", "primary"})
}

// passwords makes a cluster ask for passwords over TCP.
func passwords(t *testing.T, d *database) {
	t.Helper()
	rules := ask[string](t, d, "SHOW hba_file")
	require.NoError(t, os.WriteFile(rules, []byte("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"), 0o600))
	require.True(t, ask[bool](t, d, "SELECT pg_reload_conf()"))
	eventually(t, patience, "the rules", func() bool {
		return ask[bool](t, d, "SELECT count(*) = 2 AND bool_and(error IS NULL) FROM pg_hba_file_rules")
	})
}

// login is a connection string over TCP.
func login(t *testing.T, cluster *embeddedpg.Cluster, d *database, user, password string) string {
	t.Helper()
	config, err := pgx.ParseConfig(d.url)
	require.NoError(t, err)
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(user, password),
		Host: "127.0.0.1:" + strconv.Itoa(cluster.Port()), Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

func TestServeAsAMemberOfTheReplicaRole(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	d, w := openDatabase(t, storetest.On(t, cluster)), newWitness(t)
	passwords(t, d)
	d.exec(t, "CREATE ROLE sidecar LOGIN PASSWORD 'geheim1234' IN ROLE rowrun_replica")
	d.exec(t, "CREATE ROLE stranger LOGIN PASSWORD 'geheim1234'")

	eventually(t, patience, "passwords that are asked for", func() bool { // backends learn of the rules one by one
		conn, err := pgx.Connect(t.Context(), login(t, cluster, d, "sidecar", "wrong5678"))
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err != nil
	})
	refuseServe(t, login(t, cluster, d, "sidecar", "wrong5678"), 1, []string{"wrong user or password"})
	refuseServe(t, login(t, cluster, d, "stranger", "geheim1234"), 1, []string{"rowrun_replica"})

	r := serve(t, login(t, cluster, d, "sidecar", "geheim1234"), quickLease(), w.app(),
		[]string{"--sweep-interval", "300ms", "--cleanup-interval", "300ms", "--retention", "1h", "--http-addr", "127.0.0.1:0"})
	require.NotContains(t, r.log.text(), "geheim1234")

	// Everything that a replica does: each kind of end, retries, plans, gates, takeovers, stale runs, clean-up.
	retried := d.job(t, "NOOP", `{"fail": "as asked"}`, columns{"max_attempts": 2, "retry_delay": "0 s"})
	plan := ask[int64](t, d, "INSERT INTO rowrun.plan (parallel_limit) VALUES (1) RETURNING id")
	first := d.job(t, "HTTP", `{"path": "/ok"}`, columns{"plan_id": plan, "database_id": "orders", "version": "1"})
	second := d.job(t, "HTTP", `{"path": "/ok"}`, columns{"plan_id": plan, "database_id": "orders", "version": "2", "sequential": true})
	overdue := d.job(t, "HTTP", `{"path": "/take"}`, columns{"timeout": "1 s"})
	stalled := d.job(t, "HTTP", `{"path": "/wait"}`, columns{"progress_timeout": "1 s"})
	canceled := d.job(t, "HTTP", `{"path": "/wait"}`, nil)
	stray := d.giveTo(t, d.task(t, "NOOP", `{}`, columns{"on_stale": "RETRY"}), r.id(t))
	handler := d.task(t, "NOOP", `{}`, columns{"name": "handler"})
	stale := d.giveTo(t, d.task(t, "NOOP", `{}`, columns{"on_failure_task": "handler"}), "never there")
	d.task(t, "NOOP", `{}`, columns{"name": "each moment", "schedule": "@every 100ms"})
	w.await(t, canceled)
	d.exec(t, "SELECT rowrun.cancel_run($1)", canceled)

	require.NotNil(t, d.await(t, retried, "FAILED").RetryRunID)
	d.await(t, first, "DONE")
	d.await(t, second, "DONE")
	require.Equal(t, "TIMEOUT", d.await(t, overdue, "FAILED").Code)
	require.Equal(t, "PROGRESS_TIMEOUT", d.await(t, stalled, "FAILED").Code)
	d.await(t, canceled, "CANCELED")
	lost := d.await(t, stray, "FAILED")
	require.Equal(t, "LOST_CONTACT", lost.Code)
	d.await(t, *lost.RetryRunID, "DONE")
	require.Equal(t, "STALE", d.await(t, stale, "FAILED").Code)
	eventually(t, patience, "its handler and three ticks", func() bool {
		return ask[bool](t, d, "SELECT count(*) FILTER (WHERE task_id = $1) = 1 AND count(*) FILTER (WHERE task_id <> $1 AND tick IS NOT NULL) >= 3 FROM rowrun.task_run WHERE status = 'DONE'", handler)
	})
	d.exec(t, "SET session_replication_role = replica; UPDATE rowrun.task_run SET finished_at = now() - interval '2 h', created_at = now() - interval '3 h' WHERE id = "+strconv.FormatInt(stale, 10)+"; RESET session_replication_role")
	eventually(t, patience, "retention", func() bool {
		return !ask[bool](t, d, "SELECT EXISTS (SELECT FROM rowrun.task_run WHERE id = $1)", stale)
	})
	r.signal(t, syscall.SIGTERM)
	require.Zero(t, r.wait(t))
	require.NotContains(t, r.log.text(), "permission denied")
}
