package replica_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// The program of the page is built as a reader would, runs what the page inserts, and ends with 0 where it is told to stop.
func TestEmbeddingPageIsAProgramThatWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "embedding.md"))
	require.NoError(t, err)
	shown := func(language string) string {
		blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1)
		require.Len(t, blocks, 1, language)
		return blocks[0][1]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	source, binary := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "thumbnails")
	require.NoError(t, os.WriteFile(source, []byte(shown("go")), 0o600))
	said, err := exec.CommandContext(ctx, "go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, string(said))

	url := storetest.New(t)
	u := connect(t, url)
	var log bytes.Buffer
	program := exec.CommandContext(ctx, binary)
	program.Env, program.Stderr = []string{"DATABASE_URL=" + url}, &log
	require.NoError(t, program.Start())
	define, look, ok := strings.Cut(shown("sql"), "SELECT status")
	require.True(t, ok)
	for statement := range strings.SplitSeq(strings.TrimSpace(define), ";\n") {
		u.exec(statement)
	}
	question, answer, ok := strings.Cut("SELECT status"+look, ";   -- ")
	require.True(t, ok)
	u.becomes(strings.Replace(strings.TrimSpace(answer), ",", "", 1),
		strings.Replace(question, "status, result", "concat_ws(' ', status, result)", 1))
	require.NoError(t, program.Process.Signal(syscall.SIGTERM))
	require.NoError(t, program.Wait(), log.String())
	require.Contains(t, log.String(), "drain finished")
}
