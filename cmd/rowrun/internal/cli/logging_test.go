package cli

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// writes keeps what is written, write by write.
type writes struct {
	mu   sync.Mutex
	kept []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, string(p))
	return len(p), nil
}

func (w *writes) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}

// A replica logs two lines for each run: a write for each would be a third of its work.
func TestLinesOfABurstAreWrittenTogether(t *testing.T) {
	t.Parallel()
	out := &writes{}
	config := LogConfig{Level: "info", Format: "json"}
	log := config.Logger(NewUnhurried(out))
	for range 10_000 {
		log.Info().Msg("run ended")
	}
	require.Eventually(t, func() bool { return strings.Count(strings.Join(out.all(), ""), "\n") == 10_000 }, 20*time.Second, time.Millisecond,
		"without another line or a flush")
	require.Less(t, len(out.all()), 5_000)
	for _, written := range out.all() {
		require.True(t, strings.HasPrefix(written, "{") && strings.HasSuffix(written, "}\n"), "whole lines")
	}
}

// What somebody may have to know when the process dies is there before the next statement, and everything before it.
func TestWarningsWaitForNothing(t *testing.T) {
	t.Parallel()
	out := &writes{}
	u := NewUnhurried(out)
	u.awaited = true // as if a timer were late
	log := zerolog.New(u)
	log.Info().Msg("one")
	require.Empty(t, out.all())
	log.Warn().Msg("two")
	require.Equal(t, []string{"{\"level\":\"info\",\"message\":\"one\"}\n{\"level\":\"warn\",\"message\":\"two\"}\n"}, out.all())
	log.Info().Msg("three")
	u.Flush()
	_, err := io.WriteString(u, "rowrun: unknown command\n")
	require.NoError(t, err)
	require.Equal(t, []string{"{\"level\":\"info\",\"message\":\"three\"}\n", "rowrun: unknown command\n"}, out.all()[1:])
}
