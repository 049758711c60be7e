package sqlexec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store/storetest"
)

func texts(t testing.TB, text string) []string {
	t.Helper()
	statements, err := split(text)
	require.NoError(t, err)
	out := make([]string, len(statements))
	for i, s := range statements {
		out[i] = s.text
	}
	return out
}

func TestSplitAtStatementsEndsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", " ;; -- a\n /* b */ ; ", []string{}},
		{"two", "SELECT 1; SELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"trailing comment", "SELECT 1 -- end\n; -- more", []string{"SELECT 1"}},
		{"leading comment", "/*+ hint */ SELECT 1;", []string{"/*+ hint */ SELECT 1"}},
		{"nested comment", "SELECT /* a /* ; */ ; */ 1; SELECT 2", []string{"SELECT /* a /* ; */ ; */ 1", "SELECT 2"}},
		{"comment in an operator", "SELECT 1+--;\n1", []string{"SELECT 1+--;\n1"}},
		{"carriage return ends a comment", "SELECT 1 --;\r;SELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"string", "SELECT 'a;''b;'; SELECT 2", []string{"SELECT 'a;''b;'", "SELECT 2"}},
		{"backslash in a string", `SELECT 'a\'; SELECT 2`, []string{`SELECT 'a\'`, "SELECT 2"}},
		{"escape string", `SELECT E'a\';'';b'; SELECT 2`, []string{`SELECT E'a\';'';b'`, "SELECT 2"}},
		{"escape string goes on", "SELECT e'a' -- x\n 'b\\';c'; SELECT 2", []string{"SELECT e'a' -- x\n 'b\\';c'", "SELECT 2"}},
		{"escape string does not go on in its line", `SELECT E'a' 'b\'; SELECT 2`, []string{`SELECT E'a' 'b\'`, "SELECT 2"}},
		{"word that ends in e", `SELECT DATE'a\'; SELECT 2`, []string{`SELECT DATE'a\'`, "SELECT 2"}},
		{"unicode string", `SELECT U&'\0041;'''; SELECT 2`, []string{`SELECT U&'\0041;'''`, "SELECT 2"}},
		{"identifier", `SELECT "a;""b;"; SELECT 2`, []string{`SELECT "a;""b;"`, "SELECT 2"}},
		{"dollar quotes", "SELECT $$;'$$, $a$ $$ ; $b$ $a$; SELECT 2", []string{"SELECT $$;'$$, $a$ $$ ; $b$ $a$", "SELECT 2"}},
		{"parameter, then dollar quote", "SELECT $1$a$;$a$; SELECT 2", []string{"SELECT $1$a$;$a$", "SELECT 2"}},
		{"dollar in a word", "SELECT a$b$; SELECT $c", []string{"SELECT a$b$", "SELECT $c"}},
		{"rule", "CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2); SELECT 3", []string{
			"CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2)", "SELECT 3",
		}},
		{"stray parenthesis", "SELECT 1); SELECT 2", []string{"SELECT 1)", "SELECT 2"}},
		{"atomic body", "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN /* x */ ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 1 AS end; SELECT t.end FROM t; END; SELECT 2", []string{
			"CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN /* x */ ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 1 AS end; SELECT t.end FROM t; END", "SELECT 2",
		}},
		{"atomic outside a routine", "BEGIN ATOMIC; SELECT 1", []string{"BEGIN ATOMIC", "SELECT 1"}},
		{"function named begin", "CREATE FUNCTION begin() RETURNS int AS 'x' LANGUAGE sql; SELECT 2", []string{
			"CREATE FUNCTION begin() RETURNS int AS 'x' LANGUAGE sql", "SELECT 2",
		}},
		{"byte order mark", "\ufeffSELECT 1;", []string{"SELECT 1"}},
		{"high characters", "SELECT ä'ö;ü'; SELECT 2", []string{"SELECT ä'ö;ü'", "SELECT 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, texts(t, c.text))
		})
	}
}

func TestSplitTellsPlaces(t *testing.T) {
	t.Parallel()
	statements, err := split("-- first\n  SELECT 'ä\n'; ä();\n\n\tSELECT 3")
	require.NoError(t, err)
	require.Len(t, statements, 3)
	require.Equal(t, place{2, 3}, statements[0].place)
	require.Equal(t, place{3, 4}, statements[1].place)
	require.Equal(t, place{5, 2}, statements[2].place)
	require.Equal(t, "SELECT 'ä\n'", statements[0].text[statements[0].head:])
}

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	for text, offset := range map[string]int{
		"SELECT 'a":         7,
		`SELECT E'a\'`:      7,
		`SELECT E'`:         7,
		`SELECT "a`:         7,
		"SELECT $a$ $$ $b$": 7,
		"SELECT /* /* */":   7,
		"SELECT 1; \\copy":  10,
		"SELECT '\x00'":     8,
	} {
		_, err := split(text)
		var bad *textError
		require.ErrorAs(t, err, &bad, text)
		require.Equal(t, offset, bad.offset, text)
	}
}

func TestTransactionControl(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"begin":                       "BEGIN",
		"/* x */ Start Transaction":   "START TRANSACTION",
		"COMMIT AND CHAIN":            "COMMIT",
		"COMMIT PREPARED 'x'":         "COMMIT",
		"END":                         "END",
		"ABORT":                       "ABORT",
		"ROLLBACK":                    "ROLLBACK",
		"ROLLBACK WORK":               "ROLLBACK",
		"ROLLBACK TRANSACTION":        "ROLLBACK",
		"ROLLBACK PREPARED 'x'":       "ROLLBACK",
		"PREPARE TRANSACTION 'x'":     "PREPARE TRANSACTION",
		"ROLLBACK TO a":               "",
		"ROLLBACK WORK TO a":          "",
		"ROLLBACK TRANSACTION TO a":   "",
		"SAVEPOINT a":                 "",
		"RELEASE a":                   "",
		"PREPARE p AS SELECT 1":       "",
		`SELECT "begin" FROM commit`:  "",
		"SELECT 'COMMIT'":             "",
		"SET TRANSACTION READ ONLY":   "",
		"START_REPLICATION SLOT a":    "",
		"DO $$ BEGIN COMMIT; END; $$": "",
	} {
		statements, err := split(text)
		require.NoError(t, err)
		require.Len(t, statements, 1)
		require.Equal(t, want, statements[0].transactionControl(), text)
	}
}

func TestCopyOfTheClientIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"COPY t FROM STDIN": true,
		"copy t (a, b) from /* x */ stdin with (format csv)": true,
		"COPY (SELECT 1) TO STDOUT":                          true,
		"COPY t FROM '/tmp/stdin'":                           false,
		"COPY stdin FROM '/tmp/x'":                           false,
		"COPY (SELECT * FROM stdin) TO '/tmp/x'":             false,
		"SELECT 1 FROM stdin":                                false,
	} {
		statements, err := split(text)
		require.NoError(t, err)
		require.Equal(t, want, statements[0].client, text)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"ALTER ROLE a PASSWORD 'geheim'",
		"CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'u', secret 'geheim')",
		"CREATE SUBSCRIPTION s CONNECTION 'host=x geheim' PUBLICATION p",
		"SELECT dblink($$password=geheim$$)",
	} {
		statements, err := split(text)
		require.NoError(t, err)
		shown := statements[0].shown(1000)
		require.NotContains(t, shown, "geheim")
		require.Contains(t, shown, "'***'")
	}
}

func TestCutKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	require.Equal(t, "äöü", cut("äöü", 6))
	require.Equal(t, "ä…", cut("äöüß", 6))
}

// statements draws texts that are one statement each.
func statements() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "SELECT", "1", "+", "'x;''y'", `E'\';\\'`, "e'a'\n'b\\';'", `"i;""j"`, "$$;'\"$$", "$t$ $$ ; $t$", "$1",
		"(a; b)", "(", "/* ; /* ' */ \" */", "-- ; '\n", "CASE", "END", ".", "ä", "U&'\\0041;'", "BEGIN", "ATOMIC", ",", "*",
	})
	return rapid.Custom(func(t *rapid.T) string {
		middle := rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces")
		text := "word " + strings.Join(middle, " ")
		// What was opened has to be closed, or the statement would not end.
		text += strings.Repeat(" )", strings.Count(text, "(")-strings.Count(text, "(a;"))
		if rapid.Bool().Draw(t, "atomic") {
			text = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE a WHEN 1 THEN 2 END; SELECT 'END;'; END"
		}
		return text + " z"
	})
}

func TestSplitGivesBackWhatWasJoined(t *testing.T) {
	t.Parallel()
	storetest.Check(t, 100, 10_000, func(rt *rapid.T) {
		want := rapid.SliceOfN(statements(), 1, 6).Draw(rt, "statements")
		between := rapid.SampledFrom([]string{";", " ;\n", "; ;", "\t;\r\n"}).Draw(rt, "between")
		got, err := split(strings.Join(want, between))
		require.NoError(rt, err)
		require.Len(rt, got, len(want))
		for i := range want {
			require.Equal(rt, want[i], got[i].text)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1; SELECT 'a;b' -- c;\n; /* ; /* ; */ */ SELECT $a$;$a$, E'\\';', \";\"",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; x",
		"CREATE RULE r AS ON INSERT TO t DO (a; b); COPY t FROM stdin; \\copy",
		"E'a' --\n'b\\''; \ufeff;\x00$1$$;$$\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		statements, err := split(text)
		if err != nil {
			var bad *textError
			require.ErrorAs(t, err, &bad)
			require.GreaterOrEqual(t, bad.offset, 0)
			require.Less(t, bad.offset, len(text))
			return
		}
		end := 0
		for _, s := range statements {
			require.GreaterOrEqual(t, s.offset, end)
			require.Empty(t, texts(t, text[end:s.offset]), "between statements stands nothing to execute")
			end = s.offset + len(s.text)
			require.Equal(t, s.text, text[s.offset:end])
			require.NotEmpty(t, strings.TrimSpace(s.text))
			require.Equal(t, []string{s.text}, texts(t, s.text), "a statement is one statement by itself")
			require.Equal(t, placeOf(text, s.offset+s.head), s.place)
			_ = s.shown(100)
			_ = s.transactionControl()
		}
		require.Empty(t, texts(t, text[end:]))
	})
}
