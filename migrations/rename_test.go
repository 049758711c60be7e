package migrations_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// A call could mean both of two functions of a name, and a statement that has begun ends on the function it began with.
func TestAFunctionWithOtherArgumentsIsRenamed(t *testing.T) {
	t.Parallel()
	const f = "CREATE OR REPLACE FUNCTION rowrun.f(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM FROM public.held WHERE id <> -f.a FOR UPDATE; RETURN a; END $$;\n"
	const g = "CREATE OR REPLACE FUNCTION rowrun.g() RETURNS int LANGUAGE sql RETURN rowrun.f(1);\n"
	two := strings.NewReplacer("(a int)", "(a int, b int DEFAULT 1)", "RETURN a", "RETURN a + b").Replace(f)
	three := strings.NewReplacer("(a int)", "(a int, b int DEFAULT 1, c int DEFAULT 1)", "RETURN a", "RETURN a + b + c").Replace(f)
	files := func(release, f string) fstest.MapFS { return with(release, [2]string{"a/f.sql", f + g}) }
	byHand := func(t *testing.T, url string, files fstest.MapFS) {
		sql, err := migrations.PlainCode(files)
		require.NoError(t, err)
		run(t, connect(t, url), "BEGIN;"+sql+"COMMIT")
	}
	for name, up := range map[string]func(*testing.T, string, fstest.MapFS){"up": apply, "by hand": byHand} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, conn := fresh(t)
			run(t, conn, "CREATE TABLE public.held AS SELECT 1 AS id")
			apply(t, url, files("1", f))
			run(t, conn, "CREATE VIEW public.mine AS SELECT rowrun.f(5)")
			const functions = `SELECT array_agg(oid::regprocedure::text ORDER BY 1) FROM pg_proc WHERE pronamespace = 'rowrun'::regnamespace AND proname ~ '^f'`

			run(t, conn, "BEGIN; SELECT FROM public.held FOR UPDATE")
			other := connect(t, url)
			ended := start(t, 1, func() error {
				_, err := other.Exec(t.Context(), "SELECT rowrun.f(n) FROM generate_series(1, 2) n")
				return err
			})
			eventually(t, "the call waits", func() bool {
				return ask[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
					WHERE NOT l.granted AND l.locktype = 'transactionid' AND a.datname = current_database())`)
			})
			up(t, url, files("2", two))
			run(t, conn, "COMMIT")
			require.Empty(t, failures(ended()), "a call that had begun")
			require.Equal(t, 2, ask[int](t, conn, "SELECT rowrun.g()"), "it was made again, on the new one")
			require.Equal(t, []string{"rowrun.f(integer,integer)", "rowrun.f_before_release_2(integer)"}, ask[[]string](t, conn, functions))

			up(t, url, files("2", three))
			up(t, url, files("2", strings.Replace(two, "+ b", "- b", 1)))
			up(t, url, files("2", three))
			require.Equal(t, 3, ask[int](t, conn, "SELECT rowrun.g()"))
			require.Equal(t, []string{
				"rowrun.f(integer,integer,integer)", "rowrun.f_before_release_2(integer)", "rowrun.f_before_release_2(integer,integer)",
				"rowrun.f_before_release_2(integer,integer,integer)",
			}, ask[[]string](t, conn, functions), "other builds of the same release")

			_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: files("3", three)})
			require.ErrorContains(t, err, "drop it, run `rowrun migrate up`")
			run(t, conn, "DROP VIEW public.mine")
			up(t, url, files("3", three))
			require.Equal(t, []string{"rowrun.f(integer,integer,integer)"}, ask[[]string](t, conn, functions))
		})
	}
}
