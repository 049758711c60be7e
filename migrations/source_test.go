package migrations

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// keys reads a file of code that is right.
func keys(t *testing.T, path, text string) []string {
	t.Helper()
	objects, err := sources(path, text)
	require.NoError(t, err)
	var list []string
	for _, o := range objects {
		list = append(list, o.key())
	}
	return list
}

func TestStatementsAreCutWherePsqlCutsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", " -- only a comment;\n/* and ; another /* ; */ ; */", nil},
		{"two", "SELECT 1; SELECT 2 ;", []string{"SELECT 1", "SELECT 2"}},
		{"empty ones", ";; SELECT 1;;", []string{"SELECT 1"}},
		{"strings", `SELECT ';''; --', E'\';', "a;""b";SELECT 2;`, []string{`SELECT ';''; --', E'\';', "a;""b"`, "SELECT 2"}},
		{"a backslash that is one", `SELECT '\'; SELECT 2;`, []string{`SELECT '\'`, "SELECT 2"}},
		{"dollars", "DO $$ BEGIN; $a$;$a$ END $$; DO $a_1$ ; $$ ; $a_1$;", []string{"DO $$ BEGIN; $a$;$a$ END $$", "DO $a_1$ ; $$ ; $a_1$"}},
		{"a parameter is no quote", "SELECT $1, $2; SELECT 3;", []string{"SELECT $1, $2", "SELECT 3"}},
		{
			"atomic", "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN a THEN 1 ELSE CASE b WHEN 1 THEN 2 END END; SELECT 2; END; SELECT 3;",
			[]string{"CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN a THEN 1 ELSE CASE b WHEN 1 THEN 2 END END; SELECT 2; END", "SELECT 3"},
		},
		{"case without atomic", "SELECT CASE WHEN a THEN 1 END; SELECT 2;", []string{"SELECT CASE WHEN a THEN 1 END", "SELECT 2"}},
	} {
		list, err := statements("f.sql", c.text)
		require.NoError(t, err, c.name)
		var got []string
		for _, s := range list {
			got = append(got, s.text)
		}
		require.Equal(t, c.want, got, c.name)
	}
	for text, want := range map[string]string{
		"SELECT 1;\nSELECT 2": "f.sql:2: this statement has no semicolon",
		"\n\nSELECT 'a;":      "f.sql:3: what begins here is not closed",
		"DO $a$ ; $b$;":       "f.sql:1: what begins here is not closed",
		"/* /* */ SELECT 1;":  "f.sql:1: what begins here is not closed",
		"CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; SELECT CASE WHEN a THEN 1; END;": "f.sql:1: this statement has no semicolon",
	} {
		_, err := statements("f.sql", text)
		require.EqualError(t, err, want)
	}
}

func TestObjectsAreToldByWhatDropTakes(t *testing.T) {
	t.Parallel()
	text := `-- A comment.
create or replace function Rowrun.f(a bigint, INOUT b text DEFAULT 'x, )', OUT c integer, VARIADIC d timestamp with time zone[] = '{}',
    r rowrun.plan, n numeric(10, 2)) RETURNS SETOF record LANGUAGE sql AS $$ SELECT 1; $$;
COMMENT ON FUNCTION rowrun.f(bigint, text, timestamp with time zone[], rowrun.plan, numeric(10,2)) IS 'f; g';
CREATE OR REPLACE PROCEDURE rowrun.p() LANGUAGE sql BEGIN ATOMIC SELECT 1; END;
CREATE OR REPLACE VIEW rowrun.v WITH (security_invoker = true) AS SELECT 1 AS one;
COMMENT ON COLUMN rowrun.v.one IS 'One.';
CREATE OR REPLACE TRIGGER t BEFORE UPDATE OF id, name ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.g();
CREATE CONSTRAINT TRIGGER c AFTER INSERT ON rowrun.plan DEFERRABLE FOR EACH ROW EXECUTE FUNCTION rowrun.g();
CREATE PUBLICATION s FOR TABLE rowrun.plan;
`
	require.Equal(t, []string{
		"function rowrun.f(bigint, text, timestamp with time zone[], rowrun.plan, numeric(10,2))", "procedure rowrun.p()", "view rowrun.v",
		"trigger t ON rowrun.plan", "trigger c ON rowrun.plan", "publication s",
	}, keys(t, "a/b.sql", text))
	require.Equal(t, []string{"grants grants/b"}, keys(t, "grants/b.sql", "GRANT a TO b; REVOKE a FROM b; DO $$ BEGIN END $$;"))
	require.Equal(t, []string{"roles roles/b"}, keys(t, "roles/b.sql", "DO $$ BEGIN END $$;"))
}

func TestWhatIsNotRecognisedIsRefusedByFileAndLine(t *testing.T) {
	t.Parallel()
	const function = "CREATE OR REPLACE FUNCTION rowrun.f(a int) RETURNS int LANGUAGE sql RETURN 1;\n"
	for text, want := range map[string]string{
		"\nALTER TABLE rowrun.plan ADD COLUMN x int;":                      `code/a/b.sql:2: "ALTER" is no statement of the code`,
		"CREATE TABLE rowrun.x ();":                                        "code/a/b.sql:1: CREATE TABLE is not for the code",
		"CREATE OR REPLACE RULE x AS ON INSERT TO rowrun.plan DO NOTHING;": "code/a/b.sql:1: CREATE RULE is not for the code",
		"SELECT 1;": `"SELECT" is no statement of the code`,
		"CREATE FUNCTION rowrun.f() RETURNS int LANGUAGE sql RETURN 1;":                  "write CREATE OR REPLACE",
		"CREATE VIEW rowrun.v AS SELECT 1;":                                              "write CREATE OR REPLACE",
		"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1;":              "f has to be named with its schema",
		"CREATE OR REPLACE FUNCTION public.f() RETURNS int LANGUAGE sql RETURN 1;":       "public has to be named with its schema",
		"CREATE OR REPLACE FUNCTION rowrun.f(int) RETURNS int LANGUAGE sql RETURN 1;":    "give each argument a name and a type",
		`CREATE OR REPLACE VIEW rowrun."V" AS SELECT 1;`:                                 "there is no plain name",
		"CREATE OR REPLACE TRIGGER t BEFORE INSERT ON plan EXECUTE FUNCTION rowrun.g();": "plan has to be named with its schema",
		function + "COMMENT ON FUNCTION rowrun.f(bigint) IS 'another';":                  "code/a/b.sql:2: a comment on function rowrun.f(bigint), which this file doesn't make above it",
		function + "COMMENT ON TABLE rowrun.plan IS 'not here';":                         "code/a/b.sql:2: a comment on a table is not for the code",
		function + "\n" + function:                                                       "code/a/b.sql:3: function rowrun.f(int) was made in line 1",
		function + "GRANT a TO b;":                                                       "code/a/b.sql:2: GRANT, REVOKE and DO stand in files of their own",
		"GRANT a TO b;\n" + function:                                                     "code/a/b.sql:2: function rowrun.f(int) stands in a file of roles or grants",
	} {
		_, err := sources("a/b.sql", text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestManifestAndFilesAgree(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const view = "CREATE OR REPLACE VIEW rowrun.v AS SELECT 1;"
	for manifest, want := range map[string]string{
		"a/v.sql\nb/w.sql":                           "code/manifest:1: it doesn't say which release this is",
		"release none\na/v.sql\nb/w.sql":             `code/manifest:1: "none" is no number of a release`,
		"release 1\na/v.sql\n# that's all\na/v.sql":  "code/manifest:4: a/v.sql stands here twice",
		"release 1\na/v.sql\nb/w.sql\nc/x.sql":       "code/manifest:4: there is no file code/c/x.sql",
		"release 1\na/v.sql":                         "code/b/w.sql:1: the manifest doesn't name this file",
		"release 1\n\n# a comment\na/v.sql\nb/w.sql": "",
	} {
		fsys := fstest.MapFS{"code/manifest": file(manifest), "code/a/v.sql": file(view), "code/b/w.sql": file(strings.Replace(view, ".v", ".w", 1))}
		c, err := readCode(fsys)
		if want == "" {
			require.NoError(t, err)
			require.Len(t, c.objects, 2)
			continue
		}
		require.EqualError(t, err, want)
	}
	_, err := readCode(fstest.MapFS{"code/manifest": file("release 1\na/v.sql\nb/v.sql"), "code/a/v.sql": file(view), "code/b/v.sql": file("\n" + view)})
	require.EqualError(t, err, "code/b/v.sql:2: view rowrun.v is also made in code/a/v.sql:1")
}

// The hash is of what the statements say: not of comments between them, of files, or of their order.
func TestHashIsOfTheSourceAlone(t *testing.T) {
	t.Parallel()
	const v, w = "CREATE OR REPLACE VIEW rowrun.v AS SELECT 1;\n", "CREATE OR REPLACE VIEW rowrun.w AS SELECT 1;\n"
	hash := func(manifest string, files map[string]string) string {
		fsys := fstest.MapFS{"code/manifest": {Data: []byte("release 1\n" + manifest)}}
		for name, text := range files {
			fsys["code/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		c, err := readCode(fsys)
		require.NoError(t, err)
		return c.hash()
	}
	one := hash("a/v.sql", map[string]string{"a/v.sql": v + w})
	require.Equal(t, one, hash("a/v.sql", map[string]string{"a/v.sql": "-- A comment.\n" + w + "\n\n" + v}))
	require.Equal(t, one, hash("b/w.sql\na/v.sql", map[string]string{"a/v.sql": v, "b/w.sql": w}))
	require.NotEqual(t, one, hash("a/v.sql", map[string]string{"a/v.sql": v + strings.Replace(w, "1", "2", 1)}))
	require.NotEqual(t, one, hash("a/v.sql", map[string]string{"a/v.sql": v + w + "COMMENT ON VIEW rowrun.w IS 'w';"}))
	require.NotEqual(t, one, hash("a/v.sql", map[string]string{"a/v.sql": v}))
}

// One concept a folder, and files that a person reads at once.
func TestFilesOfTheCodeAreNamedByWhatIsInside(t *testing.T) {
	t.Parallel()
	c, err := readCode(embedded)
	require.NoError(t, err)
	inside := map[string][]string{}
	for _, o := range c.objects {
		inside[o.path] = append(inside[o.path], o.key())
	}
	folders := map[string]int{}
	for _, path := range slices.Sorted(maps.Keys(inside)) {
		require.Regexp(t, `^[a-z]+/[a-z_]+\.sql$`, path)
		folder, _, _ := strings.Cut(path, "/")
		folders[folder]++
		text, err := fs.ReadFile(embedded, "code/"+path)
		require.NoError(t, err)
		require.NotRegexp(t, `(?im)^\s*(START TRANSACTION|COMMIT|ROLLBACK)\s*;`, string(text), path)
	}
	require.Greater(t, len(folders), 10)
}
