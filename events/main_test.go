package events_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

const channel = "rowrun_task_run"

// patience is how long a test waits for what must come; never how long it takes.
const patience = 30 * time.Second

func TestMain(m *testing.M) { storetest.Main(m) }

func connConfig(t *testing.T, url string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	return config
}

// session opens a connection of the test's own.
func session(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

func notify(t *testing.T, conn *pgx.Conn, payload string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "select pg_notify($1, $2)", channel, payload)
	require.NoError(t, err)
}

// harness is a running listener with what it did.
type harness struct {
	*events.Listener
	hub     *events.Hub
	batches *events.Batches
	log     *buffer
	stop    func() // returns when Run did; fails the test where Run failed
}

// listen starts a listener and waits until it hears. Change may adapt its configuration.
func listen(t *testing.T, config *pgx.ConnConfig, change func(*events.ListenConfig)) *harness {
	t.Helper()
	h := start(t, config, change)
	require.True(t, h.next(t).Look, "a connected listener says look")
	require.True(t, h.Connected())
	return h
}

func start(t *testing.T, config *pgx.ConnConfig, change func(*events.ListenConfig), before ...func(*events.Listener)) *harness {
	t.Helper()
	h := &harness{hub: events.NewHub(), log: &buffer{}}
	c := events.ListenConfig{ConnConfig: config, Channel: channel, Hub: h.hub, Log: zerolog.New(h.log)}
	if change != nil {
		change(&c)
	}
	var err error
	h.Listener, err = events.NewListener(c)
	require.NoError(t, err)
	for _, f := range before {
		f(h.Listener)
	}
	h.batches = h.hub.SubscribeBatches(1000)
	require.True(t, h.next(t).Look, "a new subscription says look")

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
		h.batches.Close()
	})
	t.Cleanup(h.stop)
	return h
}

func (h *harness) next(t *testing.T) events.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	batch, err := h.batches.Next(ctx)
	require.NoError(t, err)
	return batch
}

// nextGap passes over batches until one has a gap.
func (h *harness) nextGap(t *testing.T) events.Batch {
	t.Helper()
	for {
		if batch := h.next(t); batch.Gap != "" {
			return batch
		}
	}
}

func wait(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatal("did not come: " + what)
	}
}

// buffer is a bytes.Buffer for many goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) count(s string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.b.Bytes(), []byte(s))
}
