package migrations

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A character beyond ASCII can't be created in a database whose encoding doesn't have it.
func TestMigrationsAreASCII(t *testing.T) {
	t.Parallel()
	require.NoError(t, fs.WalkDir(embedded, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(embedded, path)
		require.Equal(t, -1, strings.IndexFunc(string(text), func(r rune) bool { return r > 126 }), path)
		return err
	}))
}
