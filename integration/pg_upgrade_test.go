//go:build pgupgrade

package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// A server that pg_upgrade made is another place: replicas wait until a person says that the deployment moved, and go on with all that
// was there. The same release on both sides, so that this needs one: of the catalogs pg_upgrade moves everything by dump all the same.
func TestDeploymentGoesOnAfterPgUpgrade(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	d := openDatabase(t, storetest.On(t, cluster))
	out := newStream(t)
	first := launchScribe(t, d.url, out, quickLease(), []string{"--stream-source", "wal"})
	first.log.await(t, 1, logFromWAL)

	d.exec(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running, share) VALUES ('tenants', '{tenant}', 1, 'FAIR')`)
	done := d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	d.exec(t, `INSERT INTO rowrun.task (name, type, schedule) VALUES ('recurring', 'NOOP', '@every 1s')`)
	plan := ask[int64](t, d, `INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('rollout', 2) RETURNING id`)
	d.exec(t, `WITH k AS (INSERT INTO rowrun.task (plan_id, type, payload) SELECT $1, 'NOOP', '{"sleep": "1ms"}' FROM generate_series(1, 5) RETURNING id)
		INSERT INTO rowrun.task_dependency (task_id, depends_on_id) SELECT a.id, b.id FROM k a JOIN k b ON b.id = a.id - 1`, plan)
	long := d.job(t, "NOOP", `{"sleep": "1h"}`, columns{"on_stale": "FAIL"})
	limited := d.task(t, "NOOP", `{"tenant": "a", "sleep": "50ms"}`, nil)
	d.await(t, long, "RUNNING")
	first.kill(t)
	d.exec(t, `SELECT rowrun.run_plan($1)`, plan)
	d.exec(t, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 5)`, limited)
	before := ask[string](t, d, `SELECT (SELECT system_identifier FROM pg_control_system())::text`)
	runs := ask[int64](t, d, `SELECT count(*) FROM rowrun.task_run`)

	data := ask[string](t, d, "SHOW data_directory")
	d.pool.Close()
	require.NoError(t, cluster.Halt(t.Context()))
	pgUpgrade(t, data)
	require.NoError(t, cluster.Restart(t.Context()))
	d = openDatabase(t, d.url)
	require.NotEqual(t, before, ask[string](t, d, `SELECT (SELECT system_identifier FROM pg_control_system())::text`), "the fault: another server")
	require.Equal(t, runs, ask[int64](t, d, `SELECT count(*) FROM rowrun.task_run`))

	second := launchScribe(t, d.url, out, quickLease(), []string{"--stream-source", "wal"})
	<-time.After(4 * time.Second) // longer than its lease
	require.Zero(t, ask[int64](t, d, `SELECT count(*) FROM rowrun.task_run WHERE id <> $1 AND id <> $2 AND status NOT IN ('PENDING', 'AVAILABLE')
		AND (finished_at IS NULL OR finished_at > (SELECT pg_postmaster_start_time()))`, done.ID, long), "it waits for a person")
	require.Equal(t, "RUNNING", ask[string](t, d, `SELECT status FROM rowrun.task_run WHERE id = $1`, long))
	environment := []string{"DATABASE_URL=" + d.url}
	_, output := rowrun(t, environment, "doctor")
	require.Contains(t, output, "rowrun migrate deployment moved")
	code, output := rowrun(t, environment, "migrate", "deployment", "moved")
	require.Zero(t, code, output)

	eventually(t, patience, "all that was there ends", func() bool {
		return ask[bool](t, d, `SELECT bool_and(status = 'DONE') FROM rowrun.task_run WHERE id <> $1 AND (plan_id = $2 OR task_id = $3)`, long, plan, limited)
	})
	require.Equal(t, "STALE", d.await(t, long, "FAILED").Code)
	ticks := `SELECT count(*) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'recurring' AND r.status = 'DONE'`
	ticked := ask[int64](t, d, ticks)
	eventually(t, patience, "schedules go on", func() bool { return ask[int64](t, d, ticks) > ticked })
	last := d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	second.log.await(t, 1, logFromWAL)
	for _, run := range list[int64](t, d, `SELECT id FROM rowrun.task_run WHERE plan_id = $1 OR task_id = $2 OR id = $3`, plan, limited, last.ID) {
		eventually(t, patience, "its lines", func() bool { return len(out.of(t, run)) >= 4 })
		require.Equal(t, allStatuses(), out.of(t, run), run)
	}
	lines := out.of(t, long) // those before the gap may be told again
	require.Equal(t, []string{"RUNNING", "FAILED"}, lines[len(lines)-2:])
	_, gaps := out.written(t)
	require.Equal(t, []string{"the database is on another server now"}, gaps)
	code, output = rowrun(t, environment, "migrate", "status")
	require.Zero(t, code, output)
	require.NotContains(t, output, "drift")
	code, output = rowrun(t, environment, "doctor")
	require.NotContains(t, output, "error", output)
	require.NotContains(t, output, "differ", output)
	require.LessOrEqual(t, code, 1, output)
}

// pgUpgrade moves a cluster that has stopped to one that initdb makes in its place, with the programs that it ran with.
func pgUpgrade(t *testing.T, data string) {
	t.Helper()
	programs, err := embeddedpg.Find(t.Context())
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(programs, "pg_upgrade")); err != nil {
		t.Fatalf("PostgreSQL's server package has pg_upgrade, and %s hasn't: %v", programs, err)
	}
	info, err := os.Stat(data)
	require.NoError(t, err)
	owner, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	old, logs := data+"-before", filepath.Join(filepath.Dir(data), "upgrade")
	require.NoError(t, os.Rename(data, old))
	require.NoError(t, os.Mkdir(logs, 0o700))
	require.NoError(t, os.Chown(logs, int(owner.Uid), int(owner.Gid)))
	do := func(name string, args ...string) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, name), args...)
		cmd.Dir = logs
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
	do("initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--auth=trust", "--no-sync")
	for _, name := range []string{"pg_hba.conf", "postgresql.conf", "postgresql.auto.conf"} {
		text, err := os.ReadFile(filepath.Join(old, name))
		require.NoError(t, err)
		if name == "postgresql.conf" { // where a server has it whose slots are logical; this one had it from its command line
			text = append(text, "wal_level = logical\n"...)
			require.NoError(t, os.WriteFile(filepath.Join(old, name), text, 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(data, name), text, 0o600))
	}
	port := 50000 + os.Getpid()%10000
	do("pg_upgrade", "-b", programs, "-B", programs, "-d", old, "-D", data, "-U", "postgres", "-s", logs, "-p", strconv.Itoa(port), "-P", strconv.Itoa(port+1))
}
