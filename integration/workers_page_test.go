package integration_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page shows the programs as they stand, and its SQL runs as it is shown, the part that a worker sends by one.
func TestWorkersPageShowsWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "workers.md"))
	require.NoError(t, err)
	shown := func(language string) (blocks []string) {
		for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			blocks = append(blocks, found[1])
		}
		return blocks
	}
	for language, name := range map[string]string{"python": "worker.py", "js": "worker.mjs", "bash": "worker.sh"} {
		program, err := os.ReadFile(filepath.Join(examples(t), name))
		require.NoError(t, err)
		require.Equal(t, []string{string(program)}, shown(language), name)
	}

	d := newDatabase(t)
	login := workerLogin(t, d)
	sql := shown("sql")
	require.Len(t, sql, 2)
	role := strings.Split(strings.TrimPrefix(login, "postgres://"), "@")[0]
	d.exec(t, "DROP ROLE "+role) // the page makes it
	for statement := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(sql[0], "reports", role)), ";\n") {
		d.exec(t, statement)
	}
	worker := openDatabase(t, login)
	for statement := range strings.SplitSeq(strings.TrimSpace(sql[1]), ";\n") {
		worker.exec(t, statement)
	}
	require.Equal(t, "hello Ada", ask[string](t, d, "SELECT result ->> 'text' FROM rowrun.task_run WHERE status = 'DONE'"))
}
