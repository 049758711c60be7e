package migrations_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// with is small() and code: lines of the manifest are names of these files, in this order.
func with(release string, files ...[2]string) fstest.MapFS {
	fsys := small()
	manifest := "release " + release + "\n"
	for _, f := range files {
		manifest += f[0] + "\n"
		fsys["code/"+f[0]] = text(f[1])
	}
	fsys["code/manifest"] = text(manifest)
	return fsys
}

const (
	one     = "CREATE OR REPLACE FUNCTION rowrun.one() RETURNS int LANGUAGE sql IMMUTABLE RETURN 1;\n"
	two     = "CREATE OR REPLACE FUNCTION rowrun.two() RETURNS int LANGUAGE sql IMMUTABLE RETURN rowrun.one() + 1;\n"
	sum     = "CREATE OR REPLACE VIEW rowrun.sum AS SELECT rowrun.one() + rowrun.two() AS sum;\n"
	fires   = "CREATE OR REPLACE FUNCTION rowrun.fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';\n"
	trigger = "CREATE OR REPLACE TRIGGER a_fires BEFORE INSERT ON rowrun.a FOR EACH ROW EXECUTE FUNCTION rowrun.fires();\n"
	late    = "CREATE CONSTRAINT TRIGGER a_late AFTER INSERT ON rowrun.a DEFERRABLE FOR EACH ROW EXECUTE FUNCTION rowrun.fires();\n"
)

func apply(t *testing.T, url string, files fstest.MapFS) {
	t.Helper()
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: files})
	require.NoError(t, err)
}

// versions are the row versions of what the code has made in the catalog: one that was made again has another.
func versions(t *testing.T, conn *pgx.Conn) map[string]uint32 {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT 'function ' || oid::regprocedure, xmin::text::bigint FROM pg_proc WHERE pronamespace = 'rowrun'::regnamespace
UNION ALL SELECT 'view ' || c.oid::regclass, r.xmin::text::bigint FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind = 'v'
UNION ALL SELECT 'trigger ' || t.tgname, t.xmin::text::bigint FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = 'rowrun'::regnamespace AND NOT t.tgisinternal`)
	require.NoError(t, err)
	made := map[string]uint32{}
	var key string
	var version int64
	_, err = pgx.ForEachRow(rows, []any{&key, &version}, func() error {
		made[key] = uint32(version) //nolint:gosec // a transaction's id
		return nil
	})
	require.NoError(t, err)
	return made
}

// again are the keys whose version is another one.
func again(before, now map[string]uint32) (list []string) {
	for key, version := range now {
		if before[key] != version {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

func TestOnlyWhatDiffersIsApplied(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	files := func(last string) fstest.MapFS {
		return with("1", [2]string{"a/one.sql", one}, [2]string{"a/two.sql", two}, [2]string{"b/sum.sql", sum}, [2]string{"c/fires.sql", fires + trigger + late}, [2]string{"d/last.sql", last})
	}
	const last = "CREATE OR REPLACE FUNCTION rowrun.last() RETURNS int LANGUAGE sql RETURN 9;\n"
	log := &buffer{}
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: files(last), Log: logTo(log)})
	require.NoError(t, err)
	require.True(t, log.has(`"made":7`))
	before := versions(t, conn)
	require.Len(t, before, 7)

	apply(t, url, files(last))
	require.Empty(t, again(before, versions(t, conn)), "the same text")
	moved := with("1", [2]string{"e/all.sql", "-- Moved, with a comment.\n" + one + "\n" + two + sum + fires + trigger + late + last})
	apply(t, url, moved)
	require.Empty(t, again(before, versions(t, conn)), "the same objects in another file")

	apply(t, url, files(strings.Replace(last, "9", "10", 1)))
	require.Equal(t, []string{"function rowrun.last()"}, again(before, versions(t, conn)))
	require.Equal(t, 10, ask[int](t, conn, "SELECT rowrun.last()"))
	apply(t, url, files(last+"COMMENT ON FUNCTION rowrun.last() IS 'Ten no more.';\n"))
	require.Equal(t, "Ten no more.", ask[string](t, conn, "SELECT obj_description('rowrun.last()'::regprocedure)"))
}

// Result types, columns of views and constraint triggers can't be replaced: what depends on them is made again with them.
func TestWhatReplaceCantChangeIsMadeAnewWithWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	files := func(one, sum, fires, triggers string) fstest.MapFS {
		return with("1", [2]string{"a/one.sql", one}, [2]string{"a/two.sql", two}, [2]string{"b/sum.sql", sum}, [2]string{"c/fires.sql", fires + triggers},
			[2]string{"grants/f.sql", "REVOKE ALL ON FUNCTION rowrun.one(), rowrun.two() FROM PUBLIC;\n"})
	}
	apply(t, url, files(one, sum, fires, trigger+late))
	before := versions(t, conn)

	bigger := strings.Replace(one, "int ", "bigint ", 1)
	apply(t, url, files(bigger, sum, fires, trigger+late))
	require.Equal(t, []string{"function rowrun.one()", "function rowrun.two()", "view rowrun.sum"}, again(before, versions(t, conn)))
	require.Equal(t, "bigint", ask[string](t, conn, "SELECT pg_typeof(rowrun.one())::text"))
	require.Zero(t, ask[int](t, conn, `SELECT count(*) FROM pg_proc f CROSS JOIN LATERAL aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
		WHERE f.pronamespace = 'rowrun'::regnamespace AND f.proname IN ('one', 'two') AND a.grantee = 0`), "grants were repeated")

	renamed := "CREATE OR REPLACE VIEW rowrun.sum AS SELECT 'x' AS other;\n"
	apply(t, url, files(bigger, renamed, fires, trigger+late))
	require.Equal(t, "x", ask[string](t, conn, "SELECT other FROM rowrun.sum"))

	before = versions(t, conn)
	apply(t, url, files(bigger, renamed, fires, trigger+strings.Replace(late, "DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED", 1)))
	require.Contains(t, again(before, versions(t, conn)), "trigger a_late")
	require.Subset(t, []string{"trigger a_late", "function rowrun.one()", "function rowrun.two()"}, again(before, versions(t, conn)), "beside it the functions of the grants")
	require.True(t, ask[bool](t, conn, "SELECT tginitdeferred FROM pg_trigger WHERE tgname = 'a_late'"))
	apply(t, url, files(bigger, renamed, fires, strings.Replace(trigger, "INSERT", "UPDATE", 1)+strings.NewReplacer("CONSTRAINT", "OR REPLACE", " DEFERRABLE", "").Replace(late)))
	require.Contains(t, ask[string](t, conn, "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'a_fires'"), "BEFORE UPDATE")
	require.Zero(t, ask[int](t, conn, "SELECT tgconstraint::int FROM pg_trigger WHERE tgname = 'a_late'"), "no constraint trigger any more")
}

// What others have built on an object is theirs: the object stays, and the error names it.
func TestWhatOthersHaveBuiltOnTheCodeIsNotDropped(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	apply(t, url, with("1", [2]string{"a/one.sql", one}, [2]string{"b/two.sql", two}))
	run(t, conn, "CREATE VIEW public.mine AS SELECT rowrun.two() AS two")
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: with("1", [2]string{"a/one.sql", strings.Replace(one, "int ", "bigint ", 1)}, [2]string{"b/two.sql", two})})
	require.ErrorContains(t, err, "view public.mine depends on function rowrun.one(), which has to be made anew: drop it, run `rowrun migrate up`, and make it again")
	require.ErrorContains(t, err, "code/a/one.sql:1")
	require.Equal(t, 2, ask[int](t, conn, "SELECT two FROM public.mine"))
	run(t, conn, "DROP VIEW public.mine")
	apply(t, url, with("1", [2]string{"a/one.sql", strings.Replace(one, "int ", "bigint ", 1)}, [2]string{"b/two.sql", strings.Replace(two, "int ", "bigint ", 1)}))
}

// Replicas of the release before still call what has gone from the files.
func TestWhatHasGoneStaysForOneRelease(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	exists := func() bool { return ask[bool](t, conn, "SELECT to_regprocedure('rowrun.two()') IS NOT NULL") }
	retired := func() *int { return ask[*int](t, conn, "SELECT max(retired_in) FROM rowrun.code_object") }
	both := []([2]string){{"a/one.sql", one}, {"a/two.sql", two}}
	apply(t, url, with("1", both...))
	apply(t, url, with("2", both[:1]...))
	require.True(t, exists(), "replicas of release 1 call it")
	require.Equal(t, 2, *retired())
	apply(t, url, with("2", [2]string{"a/one.sql", strings.Replace(one, "1;", "2;", 1)}))
	require.True(t, exists(), "another build of the same release")
	apply(t, url, with("2", both...))
	require.Nil(t, retired(), "it came back")
	apply(t, url, with("2", both[:1]...))
	apply(t, url, with("3", both[:1]...))
	require.False(t, exists())
	require.Nil(t, retired())
	require.Equal(t, 3, ask[int](t, conn, "SELECT release FROM rowrun.code_version"))
}

// A trigger is called by nobody.
func TestTriggersGoAtOnce(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	apply(t, url, with("1", [2]string{"b/fires.sql", fires + trigger + late}))
	apply(t, url, with("1", [2]string{"b/fires.sql", fires + late}))
	require.Equal(t, []string{"a_late"}, slices.Collect(maps.Keys(triggersOf(t, conn))))
}

func triggersOf(t *testing.T, conn *pgx.Conn) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for key := range versions(t, conn) {
		if name, ok := strings.CutPrefix(key, "trigger "); ok {
			found[name] = true
		}
	}
	return found
}

// A replica of an older release that is restarted with --migrate takes nothing back.
func TestCodeOfANewerReleaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	older, newer := with("1", [2]string{"a/one.sql", one}), with("2", [2]string{"a/one.sql", strings.Replace(one, "1;", "2;", 1)})
	apply(t, url, older)
	apply(t, url, newer)
	log := &buffer{}
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: older, Log: logTo(log)})
	require.NoError(t, err)
	require.True(t, log.has("newer than this binary, left as it is"))
	require.Equal(t, 2, ask[int](t, conn, "SELECT rowrun.one()"))
	status, err := migrations.ReadStatus(t.Context(), migrations.Config{URL: url, FS: older})
	require.NoError(t, err)
	require.True(t, status.Current())
	_, err = migrations.Repair(t.Context(), migrations.Config{URL: url, FS: older})
	require.ErrorContains(t, err, "the schema's code is of release 2, this program's of 1")

	// Of one release the last one wins.
	apply(t, url, with("2", [2]string{"a/one.sql", strings.Replace(one, "1;", "3;", 1)}))
	require.Equal(t, 3, ask[int](t, conn, "SELECT rowrun.one()"))
	status, err = migrations.ReadStatus(t.Context(), migrations.Config{URL: url, FS: newer})
	require.NoError(t, err)
	require.False(t, status.Current())
	require.NotEqual(t, status.Known.Hash, status.Code.Hash)
	_, err = migrations.Repair(t.Context(), migrations.Config{URL: url, FS: newer})
	require.ErrorContains(t, err, "another than this program's: run `rowrun migrate up` first")
}

func TestCodeComesWithTheNewestTablesAndGoesBeforeThem(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url, FS: with("1", [2]string{"a/one.sql", one + two}, [2]string{"b/sum.sql", sum}, [2]string{"c/fires.sql", fires + trigger + late},
		[2]string{"grants/f.sql", "REVOKE ALL ON FUNCTION rowrun.one() FROM PUBLIC;\n"})}
	_, err := migrations.UpTo(t.Context(), config, 2)
	require.NoError(t, err)
	require.Empty(t, versions(t, conn))
	require.ErrorContains(t, migrations.Grants(t.Context(), config), "`rowrun migrate up` first")
	tables := objects(t, conn)
	_, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	whole := objects(t, conn)
	require.Len(t, versions(t, conn), 6)
	undone, err := migrations.Down(t.Context(), config, 1)
	require.NoError(t, err)
	require.Equal(t, 1, undone)
	require.Equal(t, tables, objects(t, conn))
	status, err := migrations.ReadStatus(t.Context(), config)
	require.NoError(t, err)
	require.Empty(t, status.Code.Hash)
	require.False(t, status.Current())
	_, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, whole, objects(t, conn))

	// In one transaction: what others have built on the code keeps all of it.
	run(t, conn, "CREATE VIEW public.mine AS SELECT rowrun.one() AS one")
	_, err = migrations.Down(t.Context(), config, 1)
	require.ErrorContains(t, err, "view public.mine depends on function rowrun.one()")
	require.Equal(t, whole, objects(t, conn))
	requireVersion(t, config, 3)
}

// A process that died between tables and code leaves a schema that says so, and the next Up makes it whole.
func TestTablesWithoutCodeAreNotCurrent(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	apply(t, url, small())
	config := migrations.Config{URL: url, FS: with("1", [2]string{"a/one.sql", one})}
	status, err := migrations.ReadStatus(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, status.Latest, status.Version)
	require.False(t, status.Current())
	apply(t, url, config.FS.(fstest.MapFS))
	require.Equal(t, 1, ask[int](t, conn, "SELECT rowrun.one()"))
}

// All or nothing, whatever goes wrong in the middle; the error names file, line and object.
func TestCodeThatFailsLeavesTheOld(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	apply(t, url, with("1", [2]string{"a/one.sql", one}, [2]string{"b/sum.sql", two + sum}))
	before := objects(t, conn)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: with("1",
		[2]string{"a/one.sql", strings.Replace(one, "1;", "5;", 1)}, [2]string{"b/sum.sql", two + "\n-- No such column.\n" + strings.Replace(sum, "AS sum", "+ nothing AS sum", 1)})})
	require.EqualError(t, err, `migrate up: apply the code: code/b/sum.sql:4: view rowrun.sum: column "nothing" does not exist (SQLSTATE 42703)`)
	_, err = migrations.Up(t.Context(), migrations.Config{URL: url, FS: with("1",
		[2]string{"a/one.sql", strings.Replace(one, "1;", "5;", 1)}, [2]string{"b/sum.sql", two + strings.Replace(sum, "AS SELECT", "AS SELECT SELECT", 1)})})
	require.ErrorContains(t, err, `view rowrun.sum: syntax error at or near "SELECT"`)
	require.Equal(t, before, objects(t, conn))
	require.Equal(t, 1, ask[int](t, conn, "SELECT rowrun.one()"))
}

// Nobody queues behind a migration for longer than a second: it gives up, takes its locks back, and tries again.
func TestCodeWaitsForNoLockLongerThanASecond(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	apply(t, url, with("1", [2]string{"c/fires.sql", fires}))
	other := connect(t, url)
	run(t, conn, "BEGIN; LOCK TABLE rowrun.a IN ROW EXCLUSIVE MODE")
	log := &buffer{}
	ended := start(t, 1, func() error {
		_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: with("1", [2]string{"c/fires.sql", fires + trigger}), Log: logTo(log)})
		return err
	})
	eventually(t, "a refused lock", func() bool { return log.has(`"sqlstate":"55P03"`) })
	began := time.Now()
	run(t, other, "SET lock_timeout = '30s'; INSERT INTO rowrun.a DEFAULT VALUES")
	require.Less(t, time.Since(began), 10*time.Second, "a writer behind it gets its turn")
	run(t, conn, "COMMIT")
	require.Empty(t, failures(ended()))
	require.Len(t, triggersOf(t, conn), 1)
}

// Who writes the first of the tables that are locked together waits for all of them: one after the other they are waited for no
// longer than one.
func TestTablesThatAreLockedTogetherAreWaitedForTogether(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	apply(t, url, with("1", [2]string{"c/fires.sql", fires}))
	run(t, conn, "CREATE TABLE rowrun.plan (); CREATE TABLE rowrun.task (); CREATE TABLE rowrun.task_run ()")
	holders := map[string]*pgx.Conn{"task": connect(t, url), "task_run": connect(t, url)}
	for table, holder := range holders {
		run(t, holder, "BEGIN; LOCK TABLE rowrun."+table+" IN ROW EXCLUSIVE MODE")
	}
	log := &buffer{}
	ended := start(t, 1, func() error {
		_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: with("1", [2]string{"c/fires.sql", fires + trigger}), Log: logTo(log)})
		return err
	})
	for _, table := range []string{"task", "task_run"} {
		eventually(t, "it waits for "+table, func() bool {
			return ask[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) OR $2`, "rowrun."+table, log.has("55P03"))
		})
		run(t, conn, "SELECT pg_sleep(0.3)") // less than the migration waits for one
		run(t, holders[table], "COMMIT")
	}
	require.Empty(t, failures(ended()))
	require.True(t, log.has(`"sqlstate":"55P03"`), "it has waited for each as long as for one")
}

func TestGrantsRunWithTheirTextAndWithWhatIsMadeAnew(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	run(t, conn, "CREATE SEQUENCE public.ran")
	const counts = "DO $$ BEGIN PERFORM nextval('public.ran'); END $$;\n"
	files := func(one, grants string) fstest.MapFS {
		return with("1", [2]string{"a/one.sql", one}, [2]string{"grants/f.sql", grants})
	}
	ran := func() int64 {
		return ask[int64](t, conn, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.ran")
	}
	config := migrations.Config{URL: url, FS: files(one, counts)}
	require.ErrorContains(t, migrations.Grants(t.Context(), config), "`rowrun migrate up` first")
	for range 2 {
		_, err := migrations.Up(t.Context(), config)
		require.NoError(t, err)
		require.EqualValues(t, 1, ran())
	}
	apply(t, url, files(one, counts+counts))
	require.EqualValues(t, 3, ran())
	apply(t, url, files(strings.Replace(one, "1;", "2;", 1), counts))
	require.EqualValues(t, 4, ran())
	config.FS = files(strings.Replace(one, "1;", "2;", 1), counts)
	require.NoError(t, migrations.Grants(t.Context(), config))
	require.EqualValues(t, 5, ran())
	require.Error(t, migrations.Grants(t.Context(), migrations.Config{URL: url, FS: small()}), "there are none")
}

// Whoever applies by hand keeps the same books, over an older code too.
func TestPlainCodeReplacesAnOlderOne(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	older := with("1", [2]string{"a/one.sql", one + two}, [2]string{"c/fires.sql", fires + trigger + late})
	newer := with("2", [2]string{"a/one.sql", strings.Replace(one, "1;", "5;", 1)}, [2]string{"c/fires.sql", fires + late})
	apply(t, url, older)
	for _, files := range []fstest.MapFS{newer, newer} {
		sql, err := migrations.PlainCode(files)
		require.NoError(t, err)
		_, err = conn.PgConn().Exec(t.Context(), "BEGIN;"+sql+"COMMIT").ReadAll()
		require.NoError(t, err)
		require.Equal(t, 5, ask[int](t, conn, "SELECT rowrun.one()"))
		require.Equal(t, map[string]bool{"a_late": true}, triggersOf(t, conn))
		require.Equal(t, 6, ask[int](t, conn, "SELECT rowrun.two()"), "retired in release 2")
	}
	byHand := books(t, conn)
	other, otherConn := fresh(t)
	apply(t, other, older)
	apply(t, other, newer)
	require.Equal(t, books(t, otherConn), byHand)
	apply(t, url, with("3", [2]string{"a/one.sql", one}))
	require.False(t, ask[bool](t, conn, "SELECT to_regprocedure('rowrun.two()') IS NOT NULL"))
}

func books(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT concat_ws(' ', object, hash, retired_in) FROM rowrun.code_object UNION ALL SELECT concat_ws(' ', release, hash) FROM rowrun.code_version ORDER BY 1`)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}
