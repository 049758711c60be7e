package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// What runs with its owner's rights is for those to whom it is granted. A trigger function of that kind is granted to nobody: whoever may
// execute it attaches it to a table of his own, and has it compute with types and casts of his own.
func TestWhatRunsAsTheOwnerIsForNobodyElse(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url})
	require.NoError(t, err)
	of := func(condition string) []string {
		return ask[[]string](t, conn, `SELECT coalesce(array_agg(f.oid::regprocedure || ' ' || CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END), '{}')
			FROM pg_proc f CROSS JOIN LATERAL aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
			WHERE f.pronamespace = 'rowrun'::regnamespace AND f.prosecdef AND a.grantee <> f.proowner AND `+condition)
	}
	require.NotEmpty(t, of(`true`))
	require.Empty(t, of(`a.grantee = 0`))
	require.Empty(t, of(`f.prorettype = 'trigger'::regtype`))

	// As it was done: a viewer's cast, computed by a trigger function of the owner's.
	run(t, conn, `SET ROLE rowrun_viewer; CREATE TYPE pg_temp.e AS ENUM ('x');
		CREATE FUNCTION pg_temp.f(pg_temp.e) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''executed as %'', current_user; END';
		CREATE CAST (pg_temp.e AS bigint) WITH FUNCTION pg_temp.f(pg_temp.e) AS IMPLICIT;
		CREATE TEMP TABLE mine (task_id pg_temp.e, depends_on_id pg_temp.e)`)
	for _, function := range ask[[]string](t, conn, `SELECT array_agg(f.oid::regprocedure::text) FROM pg_proc f
		WHERE f.pronamespace = 'rowrun'::regnamespace AND f.prorettype = 'trigger'::regtype AND f.prosecdef`) {
		refused(t, conn, function, `CREATE TRIGGER x BEFORE DELETE ON mine FOR EACH ROW EXECUTE FUNCTION `+function)
	}
}
