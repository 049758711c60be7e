package migrations

import (
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each SQLSTATE of ours that the SQL raises stands in the table of docs/errors.md, and no other.
func TestEachErrorStandsInItsPage(t *testing.T) {
	t.Parallel()
	raised := map[string]bool{}
	require.NoError(t, fs.WalkDir(embedded, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		sql, err := fs.ReadFile(embedded, path)
		for _, found := range regexp.MustCompile(`'(RR[0-9A-Z]{3})'`).FindAllSubmatch(sql, -1) {
			raised[string(found[1])] = true
		}
		return err
	}))
	require.NotEmpty(t, raised)
	page, err := os.ReadFile("../docs/errors.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(RR[0-9A-Z]{3})` \\|").FindAllSubmatch(page, -1) {
		require.False(t, listed[string(row[1])], "%s has two rows", row[1])
		listed[string(row[1])] = true
	}
	require.Equal(t, raised, listed)
}
