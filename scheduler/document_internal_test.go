package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is stored may have 1 MiB as the server prints it: no byte less, whatever encoding/json makes of its characters.
func TestADocumentOfOneMiBIsTaken(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"letters": "a", "markup": "<", "separators": ",", "quoted": `":`, "newlines": "\n"} {
		frame := len(`{"a": 1, "b": ""}`)
		each := len(fmt.Sprintf("%q", text)) - 2
		most := (maxDocument - frame) / each
		of := func(n int) map[string]any { return map[string]any{"a": 1, "b": strings.Repeat(text, n)} }
		doc, err := document(of(most))
		require.NoError(t, err, name)
		require.Equal(t, frame+most*each, stored(doc), name)
		_, err = document(of(most + 1))
		require.ErrorContains(t, err, "at most 1 MiB", name)
	}
	_, err := document(map[string]any{"a": make([]int, maxDocument/3)})
	require.ErrorContains(t, err, "at most 1 MiB")
}
