package migrations_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// Each release leaves a dump of its schema, with rows in every state (make schema-dump): it is brought to today's, and the
// tables are taken back to what they were. Nothing is lost on either way.
func TestSchemasOfReleasesComeToTodaysAndBack(t *testing.T) {
	t.Parallel()
	storetest.New(t) // a dump has no roles: this makes them, on the server that is shared
	dumps, err := filepath.Glob("testdata/schema-*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, dumps)
	for _, path := range dumps {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			dump, err := os.ReadFile(path)
			require.NoError(t, err)
			url, conn := fresh(t)
			_, err = conn.PgConn().Exec(t.Context(), string(dump)).ReadAll()
			require.NoError(t, err)
			conn = connect(t, url) // the dump has emptied the search path
			config := migrations.Config{URL: url}
			for _, status := range []string{"PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"} {
				for _, plan := range []string{"IS NULL", "IS NOT NULL"} {
					require.NotZero(t, ask[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = $1 AND plan_id `+plan, status), status)
				}
			}
			released, tables, before := ask[int](t, conn, `SELECT max(version) FROM rowrun.migration`), tableObjects(t, conn), rowsOf(t, conn, nil)
			languages := ask[[]string](t, conn, languagesSQL)

			was, own := ask[string](t, conn, `SELECT hash FROM rowrun.code_version`), migrations.OwnCode()
			if strings.HasPrefix(filepath.Base(path), "schema-v") && was != own.Hash {
				require.Greater(t, own.Release, ask[int](t, conn, `SELECT release FROM rowrun.code_version`),
					"the code differs from that of a tag: raise the release in migrations/code/manifest")
			}

			applied, err := migrations.Up(t.Context(), config)
			require.NoError(t, err, "the steps of a release are frozen: add one")
			require.Equal(t, migrations.Version()-released, applied)
			status, err := migrations.ReadStatus(t.Context(), config)
			require.NoError(t, err)
			require.True(t, status.Current())
			found := drift(t, config)
			require.Empty(t, found.Differences)
			require.Empty(t, found.Steps)
			require.Empty(t, found.Code)
			require.Equal(t, before, rowsOf(t, conn, before))
			if now := ask[[]string](t, conn, languagesSQL); applied > 0 {
				require.Subset(t, now, languages, "who has looked a function up would read its new text in the old language")
			}
			aliveAndWell(t, conn)

			before = rowsOf(t, conn, before)
			undone, err := migrations.Down(t.Context(), config, max(applied, 1))
			require.NoError(t, err)
			require.Equal(t, max(applied, 1), undone)
			if applied > 0 {
				require.Equal(t, tables, tableObjects(t, conn))
				require.Equal(t, before, rowsOf(t, conn, before))
			}
			_, err = migrations.Up(t.Context(), config)
			require.NoError(t, err)
			require.Empty(t, drift(t, config).Differences)
		})
	}
}

// languagesSQL: a step keeps all from writing while version_key changes its language (TestNoInsertMeetsVersionKeyOfAnotherLanguage).
const languagesSQL = `SELECT array(SELECT p.proname || ' ' || l.lanname FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
	WHERE p.pronamespace = 'rowrun'::regnamespace AND p.proname <> 'version_key'
	AND 1 = (SELECT count(DISTINCT q.prolang) FROM pg_proc q WHERE q.pronamespace = p.pronamespace AND q.proname = p.proname) ORDER BY 1)`

// aliveAndWell uses what triggers and functions do for rows of the release and for new ones.
func aliveAndWell(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	require.Zero(t, ask[int](t, conn, `SELECT count(*) FROM rowrun.plan_status WHERE status = 'DONE' AND name <> 'complete'`))
	require.Equal(t, "FAILED", ask[string](t, conn, `SELECT status FROM rowrun.plan_status WHERE name = 'failed'`))
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	var id int64
	require.NoError(t, tx.QueryRow(t.Context(), `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE name = 'no plan' RETURNING id`).Scan(&id))
	_, err = tx.Exec(t.Context(), `SELECT rowrun.cancel_run(id) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE')`)
	require.NoError(t, err)
	var waiting int
	require.NoError(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE') AND tick IS NULL`).Scan(&waiting))
	require.Zero(t, waiting)
}

// tableObjects are tables, indexes and constraints.
func tableObjects(t *testing.T, conn *pgx.Conn) (list []string) {
	t.Helper()
	views := ask[[]string](t, conn, `SELECT coalesce(array_agg('column ' || oid::regclass || '.'), '{}') FROM pg_class WHERE relnamespace = 'rowrun'::regnamespace AND relkind = 'v'`)
	for _, object := range objects(t, conn) {
		if strings.HasPrefix(object, "function ") || strings.HasPrefix(object, "trigger ") || strings.HasPrefix(object, "v ") {
			continue
		}
		if strings.Contains(object, " CONSTRAINT TRIGGER ") || strings.HasPrefix(object, "constraint ") && strings.Contains(object, " TRIGGER") {
			continue
		}
		ofView := false
		for _, view := range views {
			ofView = ofView || strings.HasPrefix(object, view)
		}
		if !ofView {
			list = append(list, object)
		}
	}
	return list
}

// rowsOf are the rows of users' and replicas' tables, in the columns of the release.
func rowsOf(t *testing.T, conn *pgx.Conn, release map[string][]string) map[string][]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT c.relname::text, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'r' AND c.relname NOT IN ('migration', 'schema_migrations', 'schema_object', 'code_object', 'code_version', 'deployment')
GROUP BY c.oid ORDER BY 1`)
	require.NoError(t, err)
	columns := map[string]string{}
	var table, list string
	_, err = pgx.ForEachRow(rows, []any{&table, &list}, func() error {
		columns[table] = list
		return nil
	})
	require.NoError(t, err)
	found := map[string][]string{}
	for table, list := range columns {
		if release != nil {
			was, ok := release[table]
			if !ok {
				continue // the release had no such table
			}
			list = was[0]
		}
		texts := ask[[]string](t, conn, fmt.Sprintf(`SELECT coalesce(array_agg(r::text ORDER BY r::text), '{}') FROM (SELECT %s FROM rowrun.%s) r`, list, table))
		found[table] = append([]string{list}, texts...)
	}
	return found
}
