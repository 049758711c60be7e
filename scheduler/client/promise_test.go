package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExportedNamesAreThePromise(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	notTests := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", notTests, 0) //nolint:staticcheck // no build tags here
	require.NoError(t, err)
	for _, file := range packages["client"].Files {
		for name := range file.Scope.Objects { //nolint:staticcheck // of this package alone
			if ast.IsExported(name) {
				found[name] = true
			}
		}
	}
	require.Equal(t, []string{
		"Enqueue", "EnqueueMany", "EnqueueManySQL", "EnqueueSQL", "ErrNoTask", "Job", "Pgx", "Rows", "SQL",
	}, slices.Sorted(maps.Keys(found)))
}

// A program that only inserts brings neither an engine along nor a driver that it doesn't use.
func TestNothingButTheStandardLibraryIsImported(t *testing.T) {
	t.Parallel()
	said, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	require.Equal(t, "github.com/rowrun/rowrun/scheduler/client", strings.TrimSpace(string(said)))
}
