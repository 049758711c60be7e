package stream

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// Every kind of line says of which shard it is, in both forms; what keeps lines finds gaps in them as before.
func TestEveryLineSaysItsShard(t *testing.T) {
	t.Parallel()
	print := func(text bool) (lines [][]byte) {
		var out bytes.Buffer
		p, err := NewPrinter(PrinterConfig{Out: &out, Text: text, Shard: "eu-1"})
		require.NoError(t, err)
		p.transition(change(events.Transition{RunID: 7, TaskID: 3, From: "AVAILABLE", To: "RUNNING"}, nil, time.Now()))
		p.gap(time.Now(), "why")
		require.NoError(t, p.note(&store.Note{Level: "info", Event: "note", At: time.Now(), Detail: []byte(`{"shard": "another"}`), Message: "said"}))
		return bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	}
	lines := print(false)
	require.Len(t, lines, 3)
	for _, line := range lines {
		var said struct{ Shard string }
		require.NoError(t, json.Unmarshal(line, &said))
		require.Equal(t, "eu-1", said.Shard)
		require.Equal(t, 1, bytes.Count(line, []byte(`"shard"`)), string(line))
	}
	require.True(t, history.IsGap(lines[1]))
	for _, line := range print(true) {
		require.True(t, bytes.HasPrefix(line, []byte("eu-1  ")), string(line))
	}
}
