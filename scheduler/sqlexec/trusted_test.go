package sqlexec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A stranger on the target who may create there is before the first migration with a table of the ledger's name, whose
// trigger, rule, default, child or foreign key would run with the rights of the target's role. Nothing of it runs.
func TestLedgerThatAStrangerPlantedIsNotUsed(t *testing.T) {
	t.Parallel()
	const table = `CREATE TABLE rowrun_migration.ledger (deployment uuid, task_id bigint, version text, sha256 text, status text,
		run_id bigint, started_at timestamptz DEFAULT now(), finished_at timestamptz, PRIMARY KEY (deployment, task_id, version));
		GRANT ALL ON rowrun_migration.ledger TO PUBLIC; GRANT ALL ON SCHEMA rowrun_migration TO PUBLIC;`
	for what, c := range map[string]struct{ owner, stranger, doubt string }{
		"all of it": {``, `CREATE SCHEMA rowrun_migration; ` + table + `
			CREATE TRIGGER t BEFORE INSERT ON rowrun_migration.ledger FOR EACH ROW EXECUTE FUNCTION planted.took()`, "its schema belongs to "},
		"its schema": {``, `CREATE SCHEMA rowrun_migration; GRANT ALL ON SCHEMA rowrun_migration TO PUBLIC`, "its schema belongs to "},
		"its table": {`CREATE SCHEMA rowrun_migration; GRANT ALL ON SCHEMA rowrun_migration TO PUBLIC`, table + `
			ALTER TABLE rowrun_migration.ledger ALTER started_at SET DEFAULT planted.now()`, "it belongs to "},
		"a view": {`CREATE SCHEMA rowrun_migration; CREATE VIEW rowrun_migration.ledger AS SELECT 1 AS x`, ``, "it is no table"},
		"a trigger": {`CREATE SCHEMA rowrun_migration; ` + table, `CREATE TRIGGER took BEFORE INSERT ON rowrun_migration.ledger
			FOR EACH ROW EXECUTE FUNCTION planted.took()`, "it has the trigger took"},
		"a deferred trigger": {`CREATE SCHEMA rowrun_migration; ` + table, `CREATE CONSTRAINT TRIGGER took AFTER INSERT ON rowrun_migration.ledger
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION planted.took()`, "it has the trigger took"},
		"a foreign key": {`CREATE SCHEMA rowrun_migration; ` + table, `CREATE TABLE planted.child (d uuid, t bigint, v text,
			FOREIGN KEY (d, t, v) REFERENCES rowrun_migration.ledger ON DELETE CASCADE)`, "table planted.child refers to it"},
		"a right":   {`CREATE SCHEMA rowrun_migration; ` + strings.Replace(table, "GRANT ALL ON rowrun_migration.ledger", "GRANT TRIGGER ON rowrun_migration.ledger", 1), ``, "PUBLIC has TRIGGER on it"},
		"its rules": {`CREATE SCHEMA rowrun_migration; ` + table + `CREATE RULE r AS ON INSERT TO rowrun_migration.ledger DO ALSO NOTIFY x`, ``, "it has the rule r"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			target, conn, stranger := withStranger(t)
			execute(t, conn, c.owner)
			execute(t, conn, `SET ROLE `+stranger)
			execute(t, conn, c.stranger)
			execute(t, conn, `RESET ROLE`)
			for _, transaction := range []bool{true, false} {
				_, err := migrate(t, target, newRun(t, "CREATE TABLE t (n int)", transaction))
				f := failure(t, err)
				require.Contains(t, f.Detail, "the ledger rowrun_migration.ledger is not used: "+c.doubt)
				require.Contains(t, f.Detail, "with the rights of "+conn.Config().User)
			}
			require.Nil(t, value[*string](t, conn, `SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()`))
			require.False(t, value[bool](t, conn, `SELECT to_regclass('public.t') IS NOT NULL`), "no statement of the run was executed")
		})
	}
}

// Default privileges of the target's role lend nobody its rights, and the ledger that it has made is used.
func TestLedgerIsItsMakersAlone(t *testing.T) {
	t.Parallel()
	target, conn, stranger := withStranger(t)
	execute(t, conn, `ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO `+stranger)
	execute(t, conn, `ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC`)
	for i := range 2 {
		r := newRun(t, fmt.Sprintf("CREATE TABLE t%d (n int)", i), i == 0)
		r.TaskID = int64(10 + i)
		_, err := migrate(t, target, r)
		require.NoError(t, err)
	}
	require.Zero(t, value[int](t, conn, `SELECT count(*) FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		WHERE c.oid = 'rowrun_migration.ledger'::regclass AND a.grantee <> c.relowner`))
	require.False(t, value[bool](t, conn, `SELECT has_schema_privilege('`+stranger+`', 'rowrun_migration', 'CREATE')`))
}

// A ledger that the owner of the target made for a role that may make none is used.
func TestLedgerOfTheDatabasesOwnerIsUsed(t *testing.T) {
	t.Parallel()
	target, conn, owner := withStranger(t)
	user := owner + "_user"
	execute(t, conn, `CREATE ROLE `+user+` LOGIN`)
	execute(t, conn, `ALTER DATABASE `+pgx.Identifier{conn.Config().Database}.Sanitize()+` OWNER TO `+owner)
	_, err := migrate(t, target, newRun(t, "SELECT 1", true))
	require.NoError(t, err)
	config := conn.Config()
	target = fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, user)
	again := newRun(t, "SELECT 2", true)
	again.TaskID = 4
	_, err = migrate(t, target, again)
	require.Contains(t, failure(t, err).Detail, "permission denied")
	execute(t, conn, `ALTER SCHEMA rowrun_migration OWNER TO `+owner+`; ALTER TABLE rowrun_migration.ledger OWNER TO `+owner+`;
		GRANT USAGE ON SCHEMA rowrun_migration TO `+user+`; GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun_migration.ledger TO `+user)
	_, err = migrate(t, target, again)
	require.NoError(t, err)
	again.TaskID = 5
	_, err = migrate(t, conn.Config().ConnString(), again)
	require.Contains(t, failure(t, err).Detail, "its schema belongs to "+owner, "a superuser lends the owner nothing")
}

// What a run's statements leave in their session is over before anything of Rowrun's depends on it: a deferred trigger,
// prepared statements, temporary objects, settings and roles.
func TestWhatStatementsLeaveBehindChangesNoLedger(t *testing.T) {
	t.Parallel()
	for _, transaction := range []bool{true, false} {
		target, conn, stranger := withStranger(t)
		text := `CREATE TEMP TABLE ledger (LIKE pg_class); CREATE TEMP VIEW pg_class AS SELECT 1 AS x;
			CREATE FUNCTION pg_temp.pg_current_xact_id_if_assigned() RETURNS xid8 LANGUAGE sql AS 'SELECT ''7''::xid8';
			CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (false);
			PREPARE mine AS SELECT 1; SET search_path = pg_temp, pg_catalog; SET statement_timeout = '10s'; SET lock_timeout = '1ms';
			SET default_transaction_isolation = 'serializable'; SET client_encoding = 'LATIN1'; SET standard_conforming_strings = off;
			CREATE TABLE public.t (n int); CREATE FUNCTION public.late() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
				EXECUTE 'SET ROLE ` + stranger + `'; EXECUTE 'SET search_path = pg_temp'; RETURN NEW; END $f$;
			CREATE CONSTRAINT TRIGGER late AFTER INSERT ON public.t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.late();
			INSERT INTO public.t VALUES (1); SET ROLE ` + stranger
		if !transaction {
			text += `; DISCARD PLANS; SET default_transaction_read_only = on`
		}
		_, err := migrate(t, target, newRun(t, text, transaction))
		require.NoError(t, err)
		require.Equal(t, []string{"3 1.10 DONE 7"}, ledger(t, conn))
		for _, ended := range []string{"COMMIT", "SELECT 1; ROLLBACK", "/* x */ end", "COMMIT AND CHAIN", "PREPARE TRANSACTION 'x'", "ABORT", "DO $$ BEGIN COMMIT; END $$"} {
			r := newRun(t, "CREATE TABLE u (n int); "+ended, true)
			r.TaskID = 4
			_, err := migrate(t, target, r)
			require.Error(t, err, ended)
			require.False(t, value[bool](t, conn, `SELECT to_regclass('public.u') IS NOT NULL`), ended)
			require.Len(t, ledger(t, conn), 1, ended)
		}
	}
}

// withStranger is a target, and a role that may create there.
func withStranger(t *testing.T) (target string, conn *pgx.Conn, stranger string) {
	t.Helper()
	target = storetest.Empty(t)
	conn, stranger = connect(t, target), fmt.Sprintf("stranger_%d", time.Now().UnixNano())
	execute(t, conn, `CREATE ROLE `+stranger)
	execute(t, conn, `GRANT CREATE ON DATABASE `+pgx.Identifier{conn.Config().Database}.Sanitize()+` TO `+stranger)
	execute(t, conn, `SET ROLE `+stranger)
	execute(t, conn, `CREATE SCHEMA planted; CREATE FUNCTION planted.took() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
		EXECUTE format('COMMENT ON DATABASE %I IS ''taken''', current_database()); RETURN NEW; END $f$;
		CREATE FUNCTION planted.now() RETURNS timestamptz LANGUAGE plpgsql AS $f$ BEGIN
		EXECUTE format('COMMENT ON DATABASE %I IS ''taken''', current_database()); RETURN clock_timestamp(); END $f$`)
	execute(t, conn, `RESET ROLE`)
	return target, conn, stranger
}
