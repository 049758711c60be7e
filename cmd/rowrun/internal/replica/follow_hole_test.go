package replica

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/storetest"
)

// A replica that becomes the writer stops following, and follows again where it loses that at once. What is committed in
// between is nobody's line: whoever reads all the time is told.
func TestReadersHearOfAHoleBetweenTwoFollowers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP')`)
	const insert = `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`
	opened, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	config, err := connect.Parse(url)
	require.NoError(t, err)
	hub := events.NewHub()
	listener, err := events.NewListener(events.ListenConfig{ConnConfig: config, Channel: store.Channel, Hub: hub, Log: zerolog.Nop()})
	require.NoError(t, err)
	kept, err := history.New(history.Config{})
	require.NoError(t, err)

	const follows, takesOver, hole, after = 0, 1, 2, 3
	var state atomic.Int32
	inHole := make(chan error, 1)
	f := newFollower(opened, hub, listener.Connected, func() bool {
		switch {
		case state.CompareAndSwap(takesOver, hole):
			return true // it is time to stop following
		case state.CompareAndSwap(hole, after):
			_, err := conn.Exec(t.Context(), insert) // as that has ended
			inHole <- err
		}
		return false
	}, kept, zerolog.Nop())
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var running errgroup.Group
	around, end := context.WithCancel(ctx)
	for _, p := range []part{listener, f} {
		running.Go(func() error { return p.Run(around) })
	}
	enter := func() {
		rowruntest.Eventually(t, "lines flow", func() bool {
			_, err := f.Follow(ctx)
			return err == nil
		})
	}
	enter()
	reader, _ := kept.Follow("")
	defer reader.Close()
	require.EqualValues(t, follows, state.Swap(takesOver))
	require.NoError(t, <-inHole)
	enter() // it follows again
	rowruntest.Change(t, conn, insert)

	var seen strings.Builder
	for !strings.Contains(seen.String(), `"run_id":2,`) {
		lines, err := reader.Next(ctx, 100)
		require.NoError(t, err, seen.String())
		for _, line := range lines {
			seen.Write(line.Text)
			seen.WriteByte('\n')
		}
	}
	require.NotContains(t, seen.String(), `"run_id":1,`, "the hole is one")
	require.Contains(t, seen.String(), `"event":"stream.gap"`)
	end()
	require.NoError(t, running.Wait())
}
