package migrations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// Everything of the schema but tables, indexes and constraints comes from one file; version_key and too_deep, which
// columns and CHECKs use, from the baseline.
func TestEveryObjectComesFromOneFile(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	rows, err := conn.Query(t.Context(), `SELECT 'function ' || oid::regprocedure FROM pg_proc WHERE pronamespace = 'rowrun'::regnamespace
UNION ALL SELECT 'view ' || oid::regclass FROM pg_class WHERE relnamespace = 'rowrun'::regnamespace AND relkind IN ('v', 'm')
UNION ALL SELECT format('trigger %s ON %s', tgname, tgrelid::regclass) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE c.relnamespace = 'rowrun'::regnamespace AND NOT tgisinternal
UNION ALL SELECT 'publication ' || pubname FROM pg_publication
UNION ALL SELECT format('another object: %s', oid::regtype) FROM pg_type WHERE typnamespace = 'rowrun'::regnamespace AND typtype NOT IN ('b', 'c')
UNION ALL SELECT format('another object: rule %s', rulename) FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class WHERE c.relnamespace = 'rowrun'::regnamespace AND rulename <> '_RETURN'
UNION ALL SELECT format('another object: policy %s', polname) FROM pg_policy
ORDER BY 1`)
	require.NoError(t, err)
	has, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"function rowrun.too_deep(jsonb)", "function rowrun.version_key(text)"}, without(has, made(t, conn)))
	require.Empty(t, without(made(t, conn), has))

	// What the tables use can't be code: it is there before.
	used := `SELECT DISTINCT f.oid::regprocedure::text FROM pg_depend d JOIN pg_proc f ON d.refclassid = 'pg_proc'::regclass AND f.oid = d.refobjid
		WHERE f.pronamespace = 'rowrun'::regnamespace AND d.classid IN ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass) ORDER BY 1`
	rows, err = conn.Query(t.Context(), used)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"rowrun.too_deep(jsonb)", "rowrun.version_key(text)"}, list)
}

// made are the objects of the files as the catalog names them. That no two files make one, readCode sees to.
func made(t *testing.T, conn *pgx.Conn) (list []string) {
	t.Helper()
	for _, key := range migrations.CodeKeys() {
		kind, name, _ := strings.Cut(key, " ")
		switch kind {
		case "grants", "roles":
			continue
		case "function":
			name = ask[string](t, conn, "SELECT to_regprocedure($1)::text", name)
		}
		list = append(list, kind+" "+name)
	}
	slices.Sort(list)
	return list
}

func without(list, others []string) (left []string) {
	for _, s := range list {
		if !slices.Contains(others, s) {
			left = append(left, s)
		}
	}
	return left
}
