package migrations_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// Each kind of object is seen when it was dropped and when it was changed, and repaired.
func TestRepairMakesAnewWhatIsMissingOrDifferent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ harm, kind, name, how string }{
		{`DROP TRIGGER plan_fill ON rowrun.plan`, "trigger", "plan_fill ON rowrun.plan", "missing"},
		{`ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_guard`, "trigger", "task_run_guard ON rowrun.task_run", "disabled"},
		{`DROP TRIGGER plan_fill ON rowrun.plan; CREATE TRIGGER plan_fill AFTER INSERT ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.plan_fill()`, "trigger", "plan_fill ON rowrun.plan", "different"},
		{`CREATE OR REPLACE FUNCTION rowrun.plan_fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`, "function", "rowrun.plan_fill()", "different"},
		{`CREATE OR REPLACE FUNCTION rowrun.pause_replica(replica text) RETURNS SETOF text LANGUAGE sql AS 'SELECT replica'`, "function", "rowrun.pause_replica(text)", "different"},
		{`DROP FUNCTION rowrun.run_tasks(bigint[], timestamptz)`, "function", "rowrun.run_tasks(bigint[],timestamp with time zone)", "missing"},
		{
			`DROP FUNCTION rowrun.resume_replica(text); CREATE FUNCTION rowrun.resume_replica(replica text) RETURNS int LANGUAGE sql RETURN 1`,
			"function", "rowrun.resume_replica(text)", "different",
		},
		{`ALTER FUNCTION rowrun.version_key(text) VOLATILE`, "function", "rowrun.version_key(text)", "different"},
		{`DROP VIEW rowrun.failed_run`, "view", "rowrun.failed_run", "missing"},
		{
			`DROP VIEW rowrun.failed_run; CREATE VIEW rowrun.failed_run AS SELECT 1 AS one; GRANT SELECT ON rowrun.failed_run TO rowrun_client, rowrun_viewer, rowrun_replica`,
			"view", "rowrun.failed_run", "different",
		},
		{`DROP INDEX rowrun.task_run_own_retention`, "index", "rowrun.task_run_own_retention", "missing"},
		{`DROP INDEX rowrun.task_retention; CREATE INDEX task_retention ON rowrun.task (id DESC)`, "index", "rowrun.task_retention", "different"},
		{`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'rowrun.task_retention'::regclass`, "index", "rowrun.task_retention", "invalid"},
		{`ALTER TABLE rowrun.plan DROP CONSTRAINT plan_parallel_limit_from_1`, "constraint", "plan_parallel_limit_from_1 ON rowrun.plan", "missing"},
		{
			`ALTER TABLE rowrun.task DROP CONSTRAINT task_version_numbers_and_dots, ADD CONSTRAINT task_version_numbers_and_dots CHECK (version ~ '^[0-9]{1,20}(.[0-9]{1,20}){0,9}$')`,
			"constraint", "task_version_numbers_and_dots ON rowrun.task", "different",
		},
		{`ALTER PUBLICATION rowrun_stream SET (publish = 'insert')`, "publication", "rowrun_stream", "different"},
		{`ALTER PUBLICATION rowrun_stream SET TABLE rowrun.task_run (id, status)`, "publication", "rowrun_stream", "different"},
		{`DROP PUBLICATION rowrun_stream`, "publication", "rowrun_stream", "missing"},
		{`REVOKE UPDATE ON rowrun.task_run FROM rowrun_replica`, "grants", "TABLE rowrun.task_run", "different"},
		{`GRANT DELETE ON rowrun.task_run TO rowrun_viewer`, "grants", "TABLE rowrun.task_run", "different"},
		{`GRANT UPDATE (status) ON rowrun.task_run TO PUBLIC`, "grants", "TABLE rowrun.task_run", "different"},
		{
			`GRANT EXECUTE ON FUNCTION rowrun.purge_type(text, interval, bigint, integer) TO PUBLIC`, "grants",
			"FUNCTION rowrun.purge_type(text,interval,bigint,integer)", "different",
		},
		{`REVOKE USAGE ON SCHEMA rowrun FROM rowrun_client`, "grants", "SCHEMA rowrun", "different"},
	} {
		t.Run(c.harm, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, config := connect(t, url), migrations.Config{URL: url}
			require.Empty(t, drift(t, config).Differences)
			_, err := conn.Exec(t.Context(), c.harm)
			require.NoError(t, err)
			want := migrations.Difference{Kind: c.kind, Name: c.name, How: c.how}
			found := drift(t, config).Differences
			require.Equal(t, want, found[0])
			require.True(t, len(found) == 1 || len(found) == 2 && found[1].Kind == "grants", found) // what was made anew has others
			repaired, err := migrations.Repair(t.Context(), config)
			require.NoError(t, err)
			require.Contains(t, repaired, want)
			require.Empty(t, drift(t, config).Differences)
		})
	}
}

func drift(t *testing.T, config migrations.Config) migrations.Drift {
	t.Helper()
	found, err := migrations.ReadDrift(t.Context(), config)
	require.NoError(t, err)
	require.True(t, found.Known)
	return found
}

// What belongs to others stays, and a whole schema isn't touched: nothing is made anew.
func TestRepairLeavesAloneWhatIsWhole(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, config := connect(t, url), migrations.Config{URL: url}
	role := "reader_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err := conn.Exec(t.Context(), `CREATE ROLE `+role+`; GRANT SELECT ON rowrun.task_run TO `+role+`; CREATE INDEX mine ON rowrun.task (labels);
INSERT INTO rowrun.plan (name) VALUES ('kept')`)
	require.NoError(t, err)
	before := objects(t, conn)
	oid := ask[uint32](t, conn, `SELECT 'rowrun.task_run_own_retention'::regclass::oid`)
	repaired, err := migrations.Repair(t.Context(), config)
	require.NoError(t, err)
	require.Empty(t, repaired)
	require.Equal(t, before, objects(t, conn))
	require.Equal(t, oid, ask[uint32](t, conn, `SELECT 'rowrun.task_run_own_retention'::regclass::oid`))
	require.True(t, ask[bool](t, conn, `SELECT has_table_privilege('`+role+`', 'rowrun.task_run', 'SELECT')`))
	require.Equal(t, "kept", ask[string](t, conn, `SELECT name FROM rowrun.plan`))
	_, err = conn.Exec(t.Context(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
	require.NoError(t, err)
}

// A record that is missing, as after `migrate sql`, is of what the migrations would make, not of what is there.
func TestUpRecordsWhatTheSchemaShouldBe(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, config := connect(t, url), migrations.Config{URL: url}
	_, err := conn.Exec(t.Context(), `DROP TRIGGER plan_fill ON rowrun.plan; DELETE FROM rowrun.schema_object; COMMENT ON TABLE rowrun.schema_object IS NULL`)
	require.NoError(t, err)
	found, err := migrations.ReadDrift(t.Context(), config)
	require.NoError(t, err)
	require.False(t, found.Known)
	require.Empty(t, found.Differences)
	_, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, []migrations.Difference{{Kind: "trigger", Name: "plan_fill ON rowrun.plan", How: "missing"}}, drift(t, config).Differences)
}

func TestUpRecordsWhereTheDeploymentBelongsOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	const place = `SELECT (system_identifier, database_oid) = (SELECT s.system_identifier, s.database_oid FROM rowrun.server_identity() s) IS TRUE FROM rowrun.deployment`
	run(t, conn, `UPDATE rowrun.deployment SET system_identifier = NULL, database_oid = NULL`)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	require.True(t, ask[bool](t, conn, place))
	run(t, conn, `UPDATE rowrun.deployment SET system_identifier = NULL, database_oid = 1`)
	_, err = migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	require.False(t, ask[bool](t, conn, place), "a copy stays one")
	require.True(t, ask[bool](t, conn, `SELECT rowrun.deployment_elsewhere()`))
}

// A dump that is restored on another server has brought no roles along.
func TestGrantsMakeTheRolesThatAreMissing(t *testing.T) {
	t.Parallel()
	url := storetest.On(t, storetest.OwnCluster(t))
	conn := connect(t, url)
	for _, role := range []string{"rowrun_operator", "rowrun_author", "rowrun_client", "rowrun_viewer", "rowrun_replica"} {
		run(t, conn, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	}
	require.NoError(t, migrations.Grants(t.Context(), migrations.Config{URL: url}))
	require.True(t, ask[bool](t, conn, `SELECT has_table_privilege('rowrun_replica', 'rowrun.task_run', 'UPDATE')`))
	require.Empty(t, drift(t, migrations.Config{URL: url}).Differences)
}

// What the server tells of an object makes the same object again: so a dump that was restored, and a repair, differ in
// nothing from what the migrations make. (Rows that are compared as rows come back as other conditions: spell these out.)
func TestDefinitionsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	run(t, connect(t, url), `DO $$
DECLARE
    o record;
BEGIN
    SET LOCAL check_function_bodies = off;
    FOR o IN SELECT t.tgname, t.tgrelid::regclass AS tab, pg_get_triggerdef(t.oid) AS def FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
             WHERE c.relnamespace = 'rowrun'::regnamespace AND NOT t.tgisinternal LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', o.tgname, o.tab);
        EXECUTE o.def;
    END LOOP;
    FOR o IN SELECT c.oid::regclass AS view, coalesce(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') AS options, pg_get_viewdef(c.oid) AS def
             FROM pg_class c WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'v' LOOP
        EXECUTE format('CREATE OR REPLACE VIEW %s%s AS %s', o.view, o.options, o.def);
    END LOOP;
    FOR o IN SELECT pg_get_functiondef(f.oid) AS def FROM pg_proc f WHERE f.pronamespace = 'rowrun'::regnamespace AND f.prokind IN ('f', 'p') LOOP
        EXECUTE o.def;
    END LOOP;
    FOR o IN SELECT k.conname, k.conrelid::regclass AS tab, pg_get_constraintdef(k.oid) AS def FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
             WHERE c.relnamespace = 'rowrun'::regnamespace AND k.contype IN ('c', 'f') LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %3$s', o.tab, o.conname, o.def);
    END LOOP;
    FOR o IN SELECT i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS def FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
             WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid) LOOP
        EXECUTE format('DROP INDEX %s', o.name);
        EXECUTE o.def;
    END LOOP;
END $$`)
	require.Empty(t, drift(t, migrations.Config{URL: url}).Differences)
}
