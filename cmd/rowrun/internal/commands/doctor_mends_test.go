package commands

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/storetest"
)

// fault is something wrong and what doctor says of it.
type fault struct {
	harm  string // statements
	check string
	text  string // in the finding
}

// mended makes doctor, as the role of url, find what is wrong, executes the command that it prints as its owner and
// waits until it isn't found any more.
func mended(t *testing.T, url, owner, check, text string) {
	t.Helper()
	find := func() *doctor.Finding {
		_, findings := diagnosis(t, url)
		for _, f := range of(findings, check) {
			if strings.Contains(f.Text, text) {
				return &f
			}
		}
		return nil
	}
	f := find()
	require.NotNil(t, f, "%s: %s", check, text)
	obey(t, owner, f.Fix)
	rowruntest.Eventually(t, f.Fix, func() bool { return find() == nil })
}

// obey does what a person would with a command: gives it to a shell or, each statement by itself, to psql.
func obey(t *testing.T, url, command string) {
	t.Helper()
	if args, ours := strings.CutPrefix(command, "rowrun "); ours {
		args, _, _ = strings.Cut(args, "#")
		words := strings.Fields(args)
		if words[0] == "serve" {
			startServing(t, url, append(words[1:], "--stream-source", "off")...)
			return
		}
		got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, words...)
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		return
	}
	conn := rowruntest.Connect(t, url)
	statements, _, _ := strings.Cut(command, "--")
	for statement := range strings.SplitSeq(statements, ";") {
		if strings.TrimSpace(statement) != "" {
			rowruntest.Change(t, conn, statement)
		}
	}
	connect.Close(t.Context(), conn)
}

func TestDoctorsCommandsMendTheSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []fault{
		{`ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_guard`, "drift", "task_run_guard ON rowrun.task_run is disabled"},
		{`DROP TRIGGER plan_fill ON rowrun.plan`, "drift", "plan_fill ON rowrun.plan is missing"},
		{`CREATE TRIGGER mine BEFORE DELETE ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.plan_fill()`, "drift", "mine ON rowrun.plan is not Rowrun's"},
		{`CREATE OR REPLACE FUNCTION rowrun.plan_fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`, "drift", "function rowrun.plan_fill() is not"},
		{`CREATE OR REPLACE FUNCTION rowrun.resume_replica(replica text) RETURNS SETOF text LANGUAGE sql AS 'SELECT replica'`, "drift", "rowrun.resume_replica(text) is not"},
		{`ALTER VIEW rowrun.failed_run SET (security_barrier = true)`, "drift", "view rowrun.failed_run is not"},
		{`DROP VIEW rowrun.failed_run`, "drift", "view rowrun.failed_run is missing"},
		{`DROP INDEX rowrun.task_run_own_retention`, "drift", "task_run_own_retention is missing"},
		{`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'rowrun.task_retention'::regclass`, "drift", "task_retention is invalid"},
		{`REVOKE SELECT ON rowrun.task_run FROM rowrun_viewer`, "drift", "grants TABLE rowrun.task_run is not"},
		{`ALTER TABLE rowrun.plan DROP CONSTRAINT plan_parallel_limit_from_1`, "drift", "plan_parallel_limit_from_1 ON rowrun.plan is missing"},
		{`ALTER PUBLICATION rowrun_stream SET (publish = 'insert')`, "drift", "publication rowrun_stream is not"},
		{`DROP PUBLICATION rowrun_stream`, "drift", "publication rowrun_stream is missing"},
		{`DELETE FROM rowrun.schema_object; COMMENT ON TABLE rowrun.schema_object IS NULL`, "drift", "isn't recorded"},
		{`DROP SCHEMA rowrun CASCADE; DROP PUBLICATION rowrun_stream`, "schema", "no schema of Rowrun's"},
		{`UPDATE rowrun.deployment SET database_oid = database_oid + 1`, "deployment", "belongs to another place"},
		{`UPDATE rowrun.deployment SET system_identifier = system_identifier - 1`, "deployment", "belongs to another place (server"},
		{`UPDATE rowrun.deployment SET timeline = timeline + 1`, "deployment", "was promoted"},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			rowruntest.Change(t, rowruntest.Connect(t, url), c.harm)
			mended(t, url, url, c.check, c.text)
		})
	}
}

// What is the role's or the database's, seen by a sidecar's role.
func TestDoctorsCommandsMendRolesAndSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []fault{
		{`REVOKE rowrun_replica FROM ROLE`, "privileges", "lacks"},
		{`REVOKE UPDATE ON rowrun.webhook_delivery FROM rowrun_replica`, "privileges", "UPDATE on rowrun.webhook_delivery"},
		{`REVOKE SELECT ON rowrun.schema_object, rowrun.stream_position FROM rowrun_replica, rowrun_viewer`, "privileges", "SELECT on rowrun.schema_object"},
		{`REVOKE SELECT ON rowrun.schema_object FROM rowrun_replica, rowrun_viewer`, "drift", "this role may not look"},
		{`ALTER TABLE rowrun.task_run ENABLE ROW LEVEL SECURITY`, "settings", "row level security is on for rowrun.task_run"},
		{`ALTER ROLE ROLE SET session_replication_role = replica`, "settings", "is replica for role ROLE:"},
		{`ALTER ROLE ROLE IN DATABASE DATABASE SET session_replication_role = replica`, "settings", "is replica for role ROLE in database DATABASE:"},
		{`ALTER DATABASE DATABASE SET session_replication_role = replica`, "settings", "is replica for database"},
		{`ALTER ROLE ROLE CONNECTION LIMIT 4`, "settings", "connections of role"},
		{`ALTER DATABASE DATABASE CONNECTION LIMIT 4`, "settings", "connections of database"},
		{`ALTER ROLE ROLE SET default_transaction_read_only = on`, "server", "default_transaction_read_only"},
		{`ALTER ROLE ROLE SET default_transaction_isolation = 'serializable'`, "server", "default_transaction_isolation is serializable"},
		{``, "wal_level", "no REPLICATION"},
		{``, "snapshot", "may not see"},
	} {
		t.Run(c.check+" "+c.text, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			config, err := pgx.ParseConfig(url)
			require.NoError(t, err)
			role := "Mended " + strconv.FormatInt(time.Now().UnixNano(), 36)
			named := pgx.Identifier{role}.Sanitize()
			conn := rowruntest.Connect(t, url)
			rowruntest.Change(t, conn, `CREATE ROLE `+named+` LOGIN; GRANT rowrun_viewer, rowrun_replica TO `+named)
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				_, err := conn.Exec(ctx, `DROP ROLE `+named)
				require.NoError(t, err)
			})
			database := pgx.Identifier{config.Database}.Sanitize()
			if c.harm != "" {
				rowruntest.Change(t, conn, strings.NewReplacer("ROLE ROLE", "ROLE "+named, "FROM ROLE", "FROM "+named, "DATABASE DATABASE", "DATABASE "+database).Replace(c.harm))
			}
			// Doctor also finds the settings of the other tests' roles.
			text := strings.NewReplacer("role ROLE", "role "+named, "database DATABASE", "database "+config.Database).Replace(c.text)
			mended(t, withUser(t, url, role), url, c.check, text)
		})
	}
}

// What is the server's own: each on one of its own, with the restart that the command asks for.
func TestDoctorsCommandsMendTheServer(t *testing.T) {
	t.Parallel()
	cluster := ownServer(t, map[string]string{
		"wal_level": "logical", "max_prepared_transactions": "5",
	})
	url := storetest.On(t, cluster)
	conn := rowruntest.Connect(t, url)
	// The tests' server has these on its command line, which wins over the file.
	_, findings := diagnosis(t, url)
	for _, f := range of(findings, "server") {
		require.Contains(t, f.Text, "fsync or full_page_writes")
		obey(t, url, f.Fix)
	}
	var set int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_file_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'on'`).Scan(&set))
	require.Equal(t, 2, set)
	rowruntest.Change(t, conn, `ALTER SYSTEM SET autovacuum = off`)
	rowruntest.Change(t, conn, `SELECT pg_reload_conf()`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.stream_position (second, system_id, timeline, at, snapshot)
SELECT now() + n * interval '1 min', '', 0, now(), pg_current_snapshot() FROM generate_series(1, 120000) n`)
	rowruntest.Change(t, conn, `DELETE FROM rowrun.stream_position`)
	rowruntest.Change(t, conn, `SELECT pg_stat_force_next_flush()`)
	mended(t, url, url, "vacuum", "dead rows")
	mended(t, url, url, "server", "autovacuum")

	rowruntest.Change(t, conn, `BEGIN`)
	rowruntest.Change(t, conn, `CREATE TABLE prepared ()`)
	rowruntest.Change(t, conn, `PREPARE TRANSACTION 'it''s old'`)
	rowruntest.Eventually(t, "the prepared transaction is old", func() bool {
		_, findings := diagnosis(t, url, "--snapshot-age", "1ns")
		for _, f := range of(findings, "snapshot") {
			if strings.Contains(f.Text, "a prepared transaction") {
				obey(t, url, f.Fix)
				return true
			}
		}
		return false
	})
	var prepared int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_prepared_xacts`).Scan(&prepared))
	require.Zero(t, prepared)

	storetest.AddStreamSlot(t, url)
	mended(t, url, url, "slot", "max_slot_wal_keep_size is not set")
	rowruntest.Change(t, conn, `SELECT pg_drop_replication_slot('rowrun_stream_' || left(id::text, 8)) FROM rowrun.deployment`)
	rowruntest.Change(t, conn, `SELECT pg_create_logical_replication_slot('rowrun_stream_0a1b2c3d', 'pgoutput')`)
	mended(t, url, url, "slot", "not this deployment's")
}

// A slot of another database's keeps index pages from being used again.
func TestDoctorFindsSlotsThatHoldTheCatalog(t *testing.T) {
	t.Parallel()
	cluster := ownServer(t, map[string]string{"wal_level": "logical"})
	url := storetest.On(t, cluster)
	conn, other := rowruntest.Connect(t, url), rowruntest.Connect(t, cluster.SocketURL("postgres"))
	rowruntest.Change(t, other, `SELECT pg_create_logical_replication_slot('somebody_elses', 'pgoutput')`)
	rowruntest.Change(t, conn, `SET synchronous_commit = off`)
	rowruntest.Change(t, conn, `CREATE TEMP TABLE consumed (n int)`)
	rowruntest.Change(t, conn, `DO $$ BEGIN FOR n IN 1..110000 LOOP INSERT INTO consumed VALUES (n); IF n % 50 = 0 THEN DELETE FROM consumed; END IF; COMMIT; END LOOP; END $$`)
	mended(t, url, url, "snapshot", "replication slot")
	var slots int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_replication_slots`).Scan(&slots))
	require.Zero(t, slots)
}

// Somebody's work isn't purged: what would run it is named.
func TestDoctorsCommandsMendOrphans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ task, text, has string }{
		{`('a', 'NOOP', 'far', NULL, NULL)`, "type NOOP in queue far", "rowrun serve --queues far --types NOOP"},
		{`('a', 'SQL', 'default', 'elsewhere', '{"sql": "SELECT 1"}')`, "on database elsewhere", "databases: elsewhere: {url: env:"},
		{`('a', 'MINE', 'default', NULL, NULL)`, "type MINE", `replica.Config has 'MINE' in Executors`},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn := rowruntest.Connect(t, url)
			rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type, queue, database_id, payload) VALUES `+c.task+`;
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task; SELECT * FROM rowrun.promote_runs(true)`)
			_, findings := diagnosis(t, url)
			f := one(t, findings, "orphans", doctor.Warning)
			require.Contains(t, f.Text, c.text)
			require.Contains(t, f.Fix, c.has)
			require.NotContains(t, f.Fix, "purge")
			if !strings.HasPrefix(f.Fix, "rowrun serve") {
				return
			}
			path := filepath.Join(t.TempDir(), "target")
			require.NoError(t, os.WriteFile(path, []byte(storetest.Empty(t)), 0o600))
			obey(t, url, strings.Replace(f.Fix, "FILE", rowruntest.ConfigFile(t, "databases: {elsewhere: {url: 'file:"+path+"'}}"), 1))
			rowruntest.Eventually(t, "somebody takes it", func() bool {
				_, findings = diagnosis(t, url)
				return len(of(findings, "orphans")) == 0 && len(of(findings, "replicas")) == 0
			})
		})
	}
}
