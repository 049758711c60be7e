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

// The page's statements are an application's: its role is a client, and a replica runs what they insert.
func TestAppPageIsTrue(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	startServing(t, url)
	conn := rowruntest.Connect(t, url)
	checkPage(t, conn.PgConn(), "app.md")
	rowruntest.Change(t, conn, "RESET ROLE; DROP OWNED BY shop; DROP ROLE shop") // a role is the server's
}

// The programs that the page shows are those that integration/clients runs. UPDATE_DOCS=1 writes them into it.
func TestAppPageShowsThePrograms(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	path := filepath.Join(root, "docs", "app.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	shown := map[string]bool{}
	want := regexp.MustCompile("(?s)<!-- (integration/clients/\\S+) -->\n(```\\w+\n)(.*?)```\n").ReplaceAllStringFunc(string(page), func(block string) string {
		head, _, _ := strings.Cut(block, "```")
		name := strings.TrimSuffix(strings.TrimPrefix(head, "<!-- "), " -->\n")
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		shown[filepath.Dir(name)] = true
		fence, _, _ := strings.Cut(block[len(head):], "\n")
		return head + fence + "\n" + string(text) + "```\n"
	})
	clients, err := filepath.Glob(filepath.Join(root, "integration", "clients", "*", "*.*"))
	require.NoError(t, err)
	require.NotEmpty(t, clients)
	for _, client := range clients {
		dir, err := filepath.Rel(root, filepath.Dir(client))
		require.NoError(t, err)
		require.True(t, shown[filepath.ToSlash(dir)], "the page has no program of %s", dir)
		if filepath.Base(client) == "package-lock.json" {
			lock, err := os.ReadFile(client)
			require.NoError(t, err)
			require.NotContains(t, string(lock), `"resolved"`, "%s names a registry: strip it", client)
		}
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(page), "UPDATE_DOCS=1 go test ./cmd/rowrun/internal/commands -run AppPageShows writes it")
}
