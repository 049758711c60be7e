package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

var (
	described = regexp.MustCompile(`^-- \$(\d+) ([a-z0-9 ]+(?:\[\])?): .`)
	keyword   = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|FROM|WHERE|RETURNING|ORDER BY|LIMIT|UNION|JOIN|DECLARE)\b`)
)

// The server takes each statement as it stands in its file, and says that its parameters have the types that the file says.
func TestEveryStatementIsTakenByTheServerAndSaysItsParameters(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for _, name := range statementNames(t) {
		file, err := os.ReadFile(filepath.Join("sql", name+".sql"))
		require.NoError(t, err)
		lines := strings.Split(string(file), "\n")
		require.Equal(t, "-- "+name, lines[0], "the name by which logs and pg_stat_activity tell it")
		var types []string
		returns := false
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, "--") {
				break
			}
			if m := described.FindStringSubmatch(line); m != nil {
				types = append(types, m[2])
				require.Equal(t, strconv.Itoa(len(types)), m[1], "%s: parameters out of order", name)
			}
			returns = returns || strings.HasPrefix(line, "-- Returns: ")
		}
		require.True(t, returns, "%s doesn't say what comes back", name)

		prepared, err := conn.Prepare(t.Context(), name, string(file))
		require.NoError(t, err, name)
		require.Len(t, types, len(prepared.ParamOIDs), "%s doesn't say all its parameters", name)
		for i, oid := range prepared.ParamOIDs {
			require.Equal(t, oid, query[uint32](t, conn, `SELECT coalesce(to_regtype($1), 0)::oid`, types[i]), "%s: type of $%d", name, i+1)
		}
		require.NoError(t, conn.Deallocate(t.Context(), name))
		if !strings.Contains(string(file), "\nDECLARE ") { // the one command that has parameters and no PREPARE
			exec(t, conn, "PREPARE pasted AS "+string(file))
			exec(t, conn, `DEALLOCATE pasted`)
		}
	}
}

// What the server gets is the name and the statement: what readers are told would push it out of pg_stat_activity.
func TestAStatementIsSentWithoutWhatReadersAreTold(t *testing.T) {
	t.Parallel()
	for _, name := range statementNames(t) {
		first, rest, _ := strings.Cut(store.Statement(name), "\n")
		require.Equal(t, "-- "+name, first)
		require.NotRegexp(t, `^--|^\s|^$|;$|\s$`, rest, name)
		require.NotRegexp(t, `[^\x00-\x7f]`, rest, "%s: not every encoding of a database has that character", name)
		file, err := os.ReadFile(filepath.Join("sql", name+".sql"))
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(strings.TrimSpace(string(file)), rest), name)
	}
	require.Panics(t, func() { store.Statement("none") })
}

// Each file has a caller that names it, and each caller a file: a statement that nobody sends or that isn't there fails here, not
// when it is first needed.
func TestEveryStatementHasAFileAndACaller(t *testing.T) {
	t.Parallel()
	called := map[string]bool{}
	for file, parsed := range goFiles(t) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "statement" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			require.True(t, ok, "%s: the name of a statement isn't spelled out", file)
			name, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			called[name] = true
			return true
		})
	}
	for name := range called {
		require.FileExists(t, filepath.Join("sql", name+".sql"))
	}
	for _, name := range statementNames(t) {
		require.True(t, called[name], "nobody sends sql/%s.sql", name)
	}
}

// SQL of more than one line, and SQL that is put together from parts, stands in no Go file but those that are still to come.
func TestNoGoFileHasAStatementOfItsOwn(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for file, parsed := range goFiles(t) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.ADD && (isSQL(t, n.X) || isSQL(t, n.Y)) {
					found[file] = true
				}
			case *ast.BasicLit:
				if isSQL(t, n) && strings.Contains(n.Value, "\n") {
					found[file] = true
				}
			}
			return true
		})
	}
	require.Empty(t, found, "a statement stands in Go: it belongs into sql")
}

// isSQL says whether an expression is a literal that reads like a statement or a part of one, in capitals or with our schema.
func isSQL(t *testing.T, e ast.Expr) bool {
	t.Helper()
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return false
	}
	text, err := strconv.Unquote(literal.Value)
	require.NoError(t, err)
	return strings.HasPrefix(text, "-- ") || keyword.MatchString(text) || strings.Contains(text, "rowrun.") && strings.Contains(text, "(")
}

func statementNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("sql/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".sql")
	}
	return files
}

// goFiles are the files of this package that are no tests, by name.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	parsed := map[string]*ast.File{}
	for _, file := range slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") }) {
		parsed[file], err = parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
	}
	return parsed
}
