package client_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the page shows is a part of the examples, which are run.
func TestGoPageShowsTheExamples(t *testing.T) {
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
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "go.md"))
	require.NoError(t, err)
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 4)
	for _, block := range blocks {
		require.Contains(t, lines(examples), lines(block[1]))
	}
}
