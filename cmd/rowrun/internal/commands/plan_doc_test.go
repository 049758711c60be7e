package commands

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// docBlock is a statement of a page, and what the page says that comes of it; "" where it says nothing.
type docBlock struct{ sql, shows string }

// docBlocks reads the SQL of a page: each block, with the block without a language that follows at once, if there is one.
func docBlocks(t *testing.T, path string) []docBlock {
	t.Helper()
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	var blocks []docBlock
	for _, match := range regexp.MustCompile("(?s)```sql\n(.*?)```\n(?:```\n(.*?)```\n)?").FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, docBlock{match[1], match[2]})
	}
	return blocks
}

// cells are a psql table's rows, its header first, without what only lines it up.
func cells(shown string) [][]string {
	var rows [][]string
	for line := range strings.Lines(strings.TrimSpace(shown)) {
		if strings.HasPrefix(strings.TrimSpace(line), "---") {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows
}

// answered are the rows of the last result, as cells has them.
func answered(results []*pgconn.Result) [][]string {
	last := results[len(results)-1]
	var header []string
	for _, field := range last.FieldDescriptions {
		header = append(header, field.Name)
	}
	rows := [][]string{header}
	for _, values := range last.Rows {
		var row []string
		for _, value := range values {
			row = append(row, string(value))
		}
		rows = append(rows, row)
	}
	return rows
}

// What a block shows comes about sooner or later: it is asked again until it has.
func TestPlansPageIsTrue(t *testing.T) {
	t.Parallel()
	url, target := storetest.New(t), storetest.Empty(t)
	config := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(config, []byte("databases: {demo: {url: \""+target+"\"}}\n"), 0o600))
	startServing(t, url, "--config", config)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, "SET search_path = rowrun, public")
	checkPage(t, conn.PgConn(), "plans.md")
}

// checkPage executes the SQL of a page of docs, and compares what it shows.
func checkPage(t *testing.T, conn *pgconn.PgConn, name string) {
	t.Helper()
	blocks := docBlocks(t, filepath.Join("..", "..", "..", "..", "docs", name))
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		results, err := conn.Exec(t.Context(), block.sql).ReadAll()
		if message, refused := strings.CutPrefix(block.shows, "ERROR:  "); refused {
			var server *pgconn.PgError
			require.True(t, errors.As(err, &server), "%s: %v", block.sql, err)
			require.Equal(t, strings.TrimSpace(message), server.Message+"\nHINT:  "+server.Hint, block.sql)
			continue
		}
		require.NoError(t, err, block.sql)
		if block.shows == "" {
			continue
		}
		awaitAnswer(t, conn, block, results)
	}
}

// awaitAnswer asks again until the answer is what the page shows.
func awaitAnswer(t *testing.T, conn *pgconn.PgConn, block docBlock, results []*pgconn.Result) {
	t.Helper()
	deadline, tick := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	want := cells(block.shows)
	for !slices.EqualFunc(answered(results), want, slices.Equal) {
		select {
		case <-tick.C:
			var err error
			results, err = conn.Exec(t.Context(), block.sql).ReadAll()
			require.NoError(t, err, block.sql)
		case <-deadline:
			require.Equal(t, want, answered(results), block.sql)
		}
	}
}
