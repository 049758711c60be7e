package migrations_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// held are the rights on our schema, tables, columns, functions and sequences, but those of their owner:
// "grantee privilege object".
const held = `SELECT concat_ws(' ', CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, a.privilege_type, o.object)
FROM (
    SELECT c.oid::regclass::text, c.relowner, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))
    FROM pg_class c WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
    UNION ALL
    SELECT 'column ' || t.attrelid::regclass || '.' || t.attname, c.relowner, t.attacl
    FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid WHERE c.relnamespace = 'rowrun'::regnamespace AND t.attacl IS NOT NULL
    UNION ALL
    SELECT 'schema', n.nspowner, coalesce(n.nspacl, acldefault('n', n.nspowner)) FROM pg_namespace n WHERE n.nspname = 'rowrun'
    UNION ALL
    SELECT f.oid::regprocedure::text, f.proowner, coalesce(f.proacl, acldefault('f', f.proowner))
    FROM pg_proc f WHERE f.pronamespace = 'rowrun'::regnamespace
) o(object, owner, acl) CROSS JOIN LATERAL aclexplode(o.acl) a
WHERE a.grantee <> o.owner ORDER BY 1`

// rights lists those of them that a condition on "grantee privilege object" keeps.
func rights(t *testing.T, conn *pgx.Conn, keep func(grantee, privilege, object string) bool) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), held)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(all), 100, "the rights of our roles")
	var kept []string
	for _, right := range all {
		part := strings.SplitN(right, " ", 3)
		if keep(part[0], part[1], part[2]) {
			kept = append(kept, right)
		}
	}
	return kept
}

// attaches are rights by which code of one's own, or a lock of the strongest kind, comes to a table.
func attaches(_, privilege, _ string) bool {
	return privilege == "TRIGGER" || privilege == "REFERENCES" || privilege == "TRUNCATE" || privilege == "CREATE"
}

// locks are table-wide UPDATE and DELETE: they permit LOCK TABLE. The sidecar has both, nobody else any.
func locks(grantee, privilege, object string) bool {
	return (privilege == "UPDATE" || privilege == "DELETE") && grantee != "rowrun_replica" && !strings.HasPrefix(object, "column ")
}

func TestNobodyButTheOwnerMayAttachCode(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	require.Empty(t, rights(t, conn, attaches))
	require.Empty(t, rights(t, conn, func(grantee, privilege, _ string) bool {
		return grantee == "PUBLIC" && privilege != "EXECUTE"
	}))
}

func TestNobodyButTheSidecarMayLockATable(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	require.Empty(t, rights(t, conn, locks))
}

// Many give an application all rights on whatever the role that migrates will create: it must not be the sidecar for
// that, nor may it after somebody's GRANT ALL, once the grants were repeated.
func TestDefaultPrivilegesLendNobodyTheSidecarsRights(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	app := fmt.Sprintf("app_%d", time.Now().UnixNano())
	run(t, conn, `CREATE ROLE `+app)
	dropLater(t, url, app)
	for _, kind := range []string{"TABLES", "SEQUENCES", "FUNCTIONS", "SCHEMAS"} {
		run(t, conn, `ALTER DEFAULT PRIVILEGES GRANT ALL ON `+kind+` TO `+app)
	}
	run(t, conn, `ALTER DEFAULT PRIVILEGES GRANT REFERENCES, TRIGGER, UPDATE ON TABLES TO PUBLIC`)
	config := migrations.Config{URL: url}
	_, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	strangers := func(grantee, privilege, object string) bool {
		return attaches(grantee, privilege, object) || !strings.HasPrefix(grantee, "rowrun_") && locks(grantee, privilege, object)
	}
	require.Empty(t, rights(t, conn, strangers))
	internal := `SELECT string_agg(f.oid::regprocedure::text, ', ') FROM pg_proc f
		WHERE f.pronamespace = 'rowrun'::regnamespace AND has_function_privilege('` + app + `', f.oid, 'EXECUTE')
		  AND (f.prosecdef OR NOT has_function_privilege('rowrun_operator', f.oid, 'EXECUTE'))`
	written := `SELECT string_agg(c.relname, ', ') FROM pg_class c
		WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'v') AND has_table_privilege('` + app + `', c.oid, 'INSERT')
		  AND c.relname NOT IN ('plan', 'task', 'task_dependency', 'task_run')`
	require.Empty(t, ask[*string](t, conn, internal))
	require.Empty(t, ask[*string](t, conn, written))
	require.False(t, ask[bool](t, conn, `SELECT has_column_privilege('`+app+`', 'rowrun.webhook', 'url', 'SELECT')`))
	require.Zero(t, ask[int](t, conn, `SELECT count(*) FROM pg_proc f WHERE f.pronamespace = 'rowrun'::regnamespace AND f.proname = 'end_runs'
		AND has_function_privilege('`+app+`', f.oid, 'EXECUTE')`))

	run(t, conn, `GRANT ALL ON ALL TABLES IN SCHEMA rowrun TO `+app+` WITH GRANT OPTION; GRANT ALL ON SCHEMA rowrun TO PUBLIC;
		GRANT REFERENCES (id) ON rowrun.task_run TO `+app+`; GRANT ALL ON ALL FUNCTIONS IN SCHEMA rowrun TO `+app)
	require.NotEmpty(t, rights(t, conn, strangers))
	require.NoError(t, migrations.Grants(t.Context(), config))
	require.Empty(t, rights(t, conn, strangers))
	require.Empty(t, ask[*string](t, conn, internal))
	require.Empty(t, ask[*string](t, conn, written))
	require.False(t, ask[bool](t, conn, `SELECT has_column_privilege('`+app+`', 'rowrun.webhook', 'url', 'SELECT')`))
	require.True(t, ask[bool](t, conn, `SELECT has_table_privilege('`+app+`', 'rowrun.task_run', 'SELECT, INSERT')`), "what attaches nothing was left")
}

// Somebody's GRANT ALL to one of Rowrun's own roles is taken back with the rest: a worker has functions only, nobody but the sidecar writes
// what is internal, and who may read where messages go is an author.
func TestRolesOfOursAreWhatTheyWereAfterAGrantOfAll(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url}
	_, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	tables := func(grantee, privilege, object string) bool {
		return strings.HasPrefix(grantee, "rowrun_") && grantee != "rowrun_replica" && privilege != "EXECUTE" && privilege != "USAGE" &&
			(privilege != "SELECT" || grantee == "rowrun_worker" || strings.HasSuffix(object, "rowrun.webhook"))
	}
	before := rights(t, conn, tables)
	run(t, conn, `GRANT ALL ON ALL TABLES IN SCHEMA rowrun TO rowrun_worker, rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer;
		GRANT ALL ON ALL SEQUENCES IN SCHEMA rowrun TO rowrun_worker; GRANT SELECT (id), UPDATE (status) ON rowrun.task_run TO rowrun_worker`)
	require.NotEqual(t, before, rights(t, conn, tables))
	require.NoError(t, migrations.Grants(t.Context(), config))
	require.Equal(t, before, rights(t, conn, tables))
	require.Empty(t, rights(t, conn, func(grantee, privilege, object string) bool {
		return grantee == "rowrun_worker" && privilege != "EXECUTE" && object != "schema"
	}))
}

// Whatever makes PostgreSQL run code on a table, or in a session that uses it, is refused to each of our roles and to who
// has none of ours.
func TestNobodyAttachesCodeToOurTables(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	suffix := fmt.Sprint(time.Now().UnixNano())
	stranger := "stranger_" + suffix
	run(t, conn, `CREATE ROLE `+stranger)
	dropLater(t, url, stranger)
	for _, role := range []string{"rowrun_client", "rowrun_author", "rowrun_operator", "rowrun_viewer", "rowrun_replica", stranger} {
		schema := "of_" + role
		run(t, conn, `CREATE SCHEMA `+schema+` AUTHORIZATION `+role+`; SET ROLE `+role+`;
			CREATE FUNCTION `+schema+`.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
			CREATE FUNCTION `+schema+`.g(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
			CREATE FUNCTION `+schema+`.e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
			CREATE TABLE `+schema+`.mine (id bigint PRIMARY KEY)`)
		for _, table := range []string{"plan", "task", "task_dependency", "task_run", "task_run_log", "gate_mark", "replica_heartbeat", "webhook", "webhook_delivery", "stream_note", "deployment"} {
			for what, text := range map[string]string{
				"trigger":            `CREATE TRIGGER x AFTER UPDATE ON rowrun.%s FOR EACH ROW EXECUTE FUNCTION ` + schema + `.f()`,
				"deferred trigger":   `CREATE CONSTRAINT TRIGGER x AFTER INSERT ON rowrun.%s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ` + schema + `.f()`,
				"replaced trigger":   `CREATE OR REPLACE TRIGGER x BEFORE INSERT ON rowrun.%s FOR EACH ROW EXECUTE FUNCTION ` + schema + `.f()`,
				"rule":               `CREATE RULE x AS ON UPDATE TO rowrun.%s DO ALSO SELECT ` + schema + `.g(1)`,
				"foreign key":        `CREATE TABLE ` + schema + `.child (id bigint REFERENCES rowrun.%s ON DELETE CASCADE)`,
				"child":              `CREATE TABLE ` + schema + `.child () INHERITS (rowrun.%s)`,
				"child later":        `ALTER TABLE ` + schema + `.mine INHERIT rowrun.%s`,
				"partition":          `ALTER TABLE rowrun.%s ATTACH PARTITION ` + schema + `.mine DEFAULT`,
				"default":            `ALTER TABLE rowrun.%s ADD COLUMN x boolean DEFAULT ` + schema + `.g(1)`,
				"check":              `ALTER TABLE rowrun.%s ADD CHECK (` + schema + `.g(1))`,
				"policy":             `CREATE POLICY x ON rowrun.%s USING (` + schema + `.g(1))`,
				"index":              `CREATE INDEX ON rowrun.%s (` + schema + `.g(1))`,
				"statistics":         `CREATE STATISTICS ` + schema + `.x ON (` + schema + `.g(1)) FROM rowrun.%s`,
				"publication":        `CREATE PUBLICATION x_` + suffix + ` FOR TABLE rowrun.%s WHERE (` + schema + `.g(1))`,
				"added publication":  `ALTER PUBLICATION rowrun_stream ADD TABLE rowrun.%s`,
				"disabled triggers":  `ALTER TABLE rowrun.%s DISABLE TRIGGER ALL`,
				"replica's triggers": `ALTER TABLE rowrun.%s ENABLE REPLICA TRIGGER x`,
				"owner":              `ALTER TABLE rowrun.%s OWNER TO ` + role,
				"comment":            `COMMENT ON TABLE rowrun.%s IS 'x'`,
				"emptied":            `TRUNCATE rowrun.%s CASCADE`,
			} {
				refused(t, conn, role+": "+what, fmt.Sprintf(text, table))
			}
		}
		for what, text := range map[string]string{
			"function":         `CREATE FUNCTION rowrun.x() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
			"replaced":         `CREATE OR REPLACE FUNCTION rowrun.ago(interval) RETURNS text LANGUAGE sql AS 'SELECT ''x'''`,
			"operator":         `CREATE OPERATOR rowrun.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq)`,
			"domain":           `CREATE DOMAIN rowrun.text AS text CHECK (` + schema + `.g(1))`,
			"table":            `CREATE TABLE rowrun.x ()`,
			"function's owner": `ALTER FUNCTION rowrun.check_isolation() OWNER TO ` + role,
			"function's path":  `ALTER FUNCTION rowrun.check_isolation() RESET ALL`,
			"cast":             `CREATE CAST (text AS bigint) WITHOUT FUNCTION`,
			"row's cast":       `CREATE CAST (rowrun.task_run AS text) WITH INOUT AS IMPLICIT`,
			"operator class":   `CREATE OPERATOR CLASS ` + schema + `.x DEFAULT FOR TYPE bigint USING btree AS FUNCTION 1 ` + schema + `.g(bigint)`,
			"event trigger":    `CREATE EVENT TRIGGER x_` + suffix + ` ON ddl_command_end EXECUTE FUNCTION ` + schema + `.e()`,
			"replication role": `SET session_replication_role = replica`,
			"setting of all":   `ALTER DATABASE ` + pgx.Identifier{conn.Config().Database}.Sanitize() + ` SET search_path = ` + schema,
			"setting of one":   `ALTER ROLE rowrun_replica SET search_path = ` + schema,
		} {
			if role == "rowrun_replica" && what == "setting of one" {
				continue // anybody may change what is set for himself
			}
			refused(t, conn, role+": "+what, text)
		}
		run(t, conn, `RESET ROLE; DROP SCHEMA `+schema+` CASCADE`)
	}
}

// refused demands that the role of the session lacks the right to do it.
func refused(t *testing.T, conn *pgx.Conn, what, text string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), text)
	var server *pgconn.PgError
	require.ErrorAs(t, err, &server, "%s: %s", what, text)
	require.Equal(t, "42501", server.Code, "%s: %s: %s", what, text, server.Message)
}

// dropLater drops a role at the end of the test: the server is that of all tests.
func dropLater(t *testing.T, url, role string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		require.NoError(t, err)
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Exec(ctx, `DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(t, err)
	})
}

// Who may create in the database may be there first, with a schema of our name.
func TestMigrationsTouchNothingThatAStrangerPlanted(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	suffix := fmt.Sprint(time.Now().UnixNano())
	stranger, owner := "planter_"+suffix, "owner_"+suffix
	run(t, conn, `CREATE ROLE `+stranger+`; CREATE ROLE `+owner+` LOGIN`)
	dropLater(t, url, stranger)
	dropLater(t, url, owner)
	database := pgx.Identifier{conn.Config().Database}.Sanitize()
	run(t, conn, `GRANT CREATE ON DATABASE `+database+` TO `+stranger+`, `+owner+`; SET ROLE `+stranger+`;
		CREATE SCHEMA rowrun; CREATE TABLE rowrun.migration (version bigint PRIMARY KEY);
		CREATE TABLE rowrun.schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL);
		CREATE FUNCTION rowrun.took() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN
			EXECUTE 'COMMENT ON DATABASE `+database+` IS ''taken'''; RETURN NEW; END $f$;
		CREATE TRIGGER took BEFORE INSERT ON rowrun.schema_migrations FOR EACH ROW EXECUTE FUNCTION rowrun.took();
		GRANT ALL ON SCHEMA rowrun TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA rowrun TO PUBLIC; RESET ROLE`)
	taken := `SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()`
	asOwner := conn.Config().Copy()
	for _, config := range []migrations.Config{{URL: url}, {URL: urlAs(asOwner, owner)}} {
		_, err := migrations.Up(t.Context(), config)
		require.ErrorContains(t, err, "schema rowrun belongs to "+stranger)
		require.Nil(t, ask[*string](t, conn, taken))
	}

	run(t, conn, `DROP SCHEMA rowrun CASCADE; CREATE SCHEMA rowrun; GRANT CREATE, USAGE ON SCHEMA rowrun TO `+stranger+`;
		SET ROLE `+stranger+`; CREATE FUNCTION rowrun.same(bigint, integer) RETURNS boolean LANGUAGE sql AS 'SELECT true';
		CREATE OPERATOR rowrun.= (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = rowrun.same); RESET ROLE`)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.ErrorContains(t, err, "belongs to "+stranger)
	run(t, conn, `DROP OPERATOR rowrun.= (bigint, integer); DROP FUNCTION rowrun.same(bigint, integer)`)

	// A member of the schema's owner, who is no superuser, migrates as ever; roles, which come with the code, are another matter.
	run(t, conn, `DROP SCHEMA rowrun; REVOKE CREATE ON DATABASE `+database+` FROM `+stranger+`; CREATE SCHEMA rowrun AUTHORIZATION `+stranger+`; GRANT `+stranger+` TO `+owner)
	_, err = migrations.UpTo(t.Context(), migrations.Config{URL: urlAs(asOwner, owner)}, 1)
	require.NoError(t, err)
	_, err = migrations.Down(t.Context(), migrations.Config{URL: urlAs(asOwner, owner)}, 1000)
	require.NoError(t, err)
}

// urlAs is the same database for another role.
func urlAs(config *pgx.ConnConfig, role string) string {
	return fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, role)
}

// A cast belongs to who owns one of its types: columns and arguments have types of PostgreSQL's own, or rows of ours.
func TestNoTypeOfOursInvitesACast(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	require.Nil(t, ask[*string](t, conn, `SELECT string_agg(used.by || ' ' || t.oid::regtype, ', ')
		FROM (SELECT c.oid::regclass || '.' || a.attname, a.atttypid FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		      WHERE c.relnamespace = 'rowrun'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
		      UNION ALL
		      SELECT f.oid::regprocedure::text, unnest(f.prorettype || f.proargtypes::oid[] || f.proallargtypes) FROM pg_proc f
		      WHERE f.pronamespace = 'rowrun'::regnamespace) used(by, type)
		JOIN pg_type t ON t.oid = used.type
		WHERE t.typnamespace <> 'pg_catalog'::regnamespace
		  AND NOT (t.typtype = 'c' AND t.typnamespace = 'rowrun'::regnamespace)
		  AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typtype = 'c' AND e.typnamespace = 'rowrun'::regnamespace)`))
	require.Zero(t, ask[int](t, conn, `SELECT count(*) FROM pg_cast k JOIN pg_type s ON s.oid = k.castsource JOIN pg_type d ON d.oid = k.casttarget
		WHERE 'rowrun'::regnamespace IN (s.typnamespace, d.typnamespace)`))
}
