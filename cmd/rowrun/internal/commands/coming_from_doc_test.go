package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// The SQL of each guide is executed, its links lead somewhere, and its parts are those of all of them. What moves jobs is tried
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
			for _, link := range regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`).FindAllSubmatch(text, -1) {
				target := path
				if len(link[1]) > 0 {
					target = filepath.Join(dir, string(link[1]))
				}
				found := mustRead(t, target)
				if len(link[2]) > 0 {
					require.Contains(t, anchors(string(found)), string(link[2]), "%s: %s", name, link[0])
				}
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

// anchors are those of a page's headings, as they are made of them.
func anchors(page string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(text, " ", "-"))
	}
	return all
}
