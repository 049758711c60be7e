package commands

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// The SQL of each guide is executed, and its parts are those of all of them. What moves jobs is tried
// by integration/comingfrom.
func TestComingFromPagesAreTrue(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "..", "docs", "coming-from")
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	require.NoError(t, err)
	require.Len(t, pages, 8)
	for _, path := range pages {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if name != "README.md" {
				for _, part := range []string{"What maps to what", "What differs", "What Rowrun lacks", "Moving over"} {
					require.Contains(t, string(text), "\n## "+part+"\n")
				}
				require.Contains(t, string(mustRead(t, filepath.Join(dir, "README.md"))), "]("+name+")")
			}
			conn := rowruntest.Connect(t, storetest.New(t))
			checkPage(t, conn.PgConn(), filepath.Join("coming-from", name))
		})
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}
