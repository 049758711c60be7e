package rowruntest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	for _, file := range packages["rowruntest"].Files {
		for name := range file.Scope.Objects { //nolint:staticcheck // of this package alone
			if ast.IsExported(name) {
				found[name] = true
			}
		}
	}
	require.Equal(t, []string{"Config", "In", "InSQL", "Job", "Jobs", "Migrate", "Schema", "Want", "Work"}, slices.Sorted(maps.Keys(found)))
}

// What the page shows is a part of the tests that are run.
func TestPageShowsTestsThatAreRun(t *testing.T) {
	t.Parallel()
	lines := func(text []byte) string {
		var trimmed []string
		for line := range strings.SplitSeq(string(text), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				trimmed = append(trimmed, line)
			}
		}
		return strings.Join(trimmed, "\n")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "go-testing.md"))
	require.NoError(t, err)
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		require.Contains(t, lines(examples), lines(block[1]))
	}
}
