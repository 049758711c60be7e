package notifier_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const patience = 30 * time.Second

// world is a database with webhooks, and whoever delivers from it.
type world struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
	log  syncBuffer

	mu        sync.Mutex
	variables map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, url: storetest.New(t), variables: map[string]string{}}
	var err error
	w.pool, err = pgxpool.New(t.Context(), w.url)
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	return w
}

func (w *world) set(name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.variables[name] = value
}

func (w *world) lookup(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value, ok := w.variables[name]
	return value, ok
}

// running is a notifier at work.
type running struct {
	t     *testing.T
	wake  chan struct{}
	stop  context.CancelFunc
	ended chan struct{}
	err   error
}

// start starts one; change may adapt its configuration.
func (w *world) start(change func(*notifier.Config)) *running {
	w.Helper()
	s, err := store.Open(w.Context(), store.Config{URL: w.url, Lease: time.Minute})
	require.NoError(w, err)
	sender, err := webhook.New(webhook.Config{Lookup: w.lookup, References: []string{"env:FINE", "env:LATER"}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	require.NoError(w, err)
	r := &running{t: w.T, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	cfg := notifier.Config{Store: s, Send: sender.Send, SweepInterval: 100 * time.Millisecond, Wake: r.wake, Log: zerolog.New(&w.log)}
	if change != nil {
		change(&cfg)
	}
	n, err := notifier.New(cfg)
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(w.Context())
	r.stop = cancel
	go func() {
		defer close(r.ended)
		defer s.Close()
		r.err = n.Run(ctx)
	}()
	w.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// end waits until it has stopped by itself after stop.
func (r *running) end() {
	r.t.Helper()
	select {
	case <-r.ended:
		require.NoError(r.t, r.err)
	case <-time.After(patience):
		require.FailNow(r.t, "it does not stop")
	}
}

func (r *running) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (w *world) webhook(url, secretRef string) (id int64) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(),
		"INSERT INTO rowrun.webhook (url, secret_ref) VALUES ($1, nullif($2, '')) RETURNING id", url, secretRef).Scan(&id))
	return id
}

// add inserts n deliveries that are due.
func (w *world) add(webhook int64, n int) {
	w.Helper()
	w.exec(`INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload)
		SELECT $1, 1 + coalesce((SELECT max(plan_id) FROM rowrun.webhook_delivery), 0) + i, 1, 'PIPELINE_FAILED', 'msg_' || gen_random_uuid(), '{"hunter2": ' || i || '}'
		FROM generate_series(1, $2) i`, webhook, n)
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), sql, args...)
	require.NoError(w, err, sql)
}

// count is how many deliveries of a webhook have a status, 0: of all webhooks.
func (w *world) count(webhook int64, status string) (n int) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(),
		"SELECT count(*) FROM rowrun.webhook_delivery WHERE ($1 = 0 OR webhook_id = $1) AND status = $2", webhook, status).Scan(&n))
	return n
}

// eventually polls until ok.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			require.FailNow(w, "not in time", "%s; log:\n%s", what, w.log.String())
		}
		<-tick.C
	}
}

// received is what a receiver got, by message id.
type received struct {
	mu     sync.Mutex
	bodies map[string][]string
	all    int
}

func (r *received) copies() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string][]string{}
	for id, bodies := range r.bodies {
		all[id] = append([]string(nil), bodies...)
	}
	return all
}

func (r *received) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// receiver records, and then lets answer answer the n-th request, the first is 1; nil: 200.
func (w *world) receiver(answer func(n int, resp http.ResponseWriter, req *http.Request)) (string, *received) {
	w.Helper()
	r := &received{bodies: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(resp http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.all++
		n, id := r.all, req.Header.Get("webhook-id")
		r.bodies[id] = append(r.bodies[id], string(body))
		r.mu.Unlock()
		if answer != nil {
			answer(n, resp, req)
		}
	}))
	w.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/hunter2?token=hunter2", r
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
