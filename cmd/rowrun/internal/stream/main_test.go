package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// patience is how long a test waits for what must come; never how long it takes.
const patience = time.Minute

func TestMain(m *testing.M) { storetest.Main(m) }

// printed is a line of the stream as a program sees it.
type printed struct {
	Type         string `json:"type"`
	Level        string
	Time         time.Time
	Stream       string
	Event        string
	RunID        int64   `json:"run_id"`
	RootID       *int64  `json:"root_id"`
	Task         *string `json:"task"`
	From         *string
	To           string
	Attempt      int
	ReplicaID    *string `json:"replica_id"`
	Code, Detail *string
	RetryRunID   *int64   `json:"retry_run_id"`
	WaitMs       *float64 `json:"wait_ms"`
	LateMs       *float64 `json:"late_ms"`
	Reason       string
	Message      string
}

// output is where readers write in tests.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	all  []printed // read so far: whoever asks again and again keeps no reader from writing
	upTo int       // bytes
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// lines returns what was printed; it isn't to be changed.
func (o *output) lines(t testing.TB) []printed {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for text := range strings.Lines(string(o.b.Bytes()[o.upTo:])) {
		var l printed
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		o.all, o.upTo = append(o.all, l), o.upTo+len(text)
	}
	return slices.Clip(o.all)
}

// of returns the lines of one run.
func (o *output) of(t testing.TB, run int64) []printed {
	t.Helper()
	var lines []printed
	for _, l := range o.lines(t) {
		if l.RunID == run {
			lines = append(lines, l)
		}
	}
	return lines
}

func (o *output) gaps(t testing.TB) []string {
	t.Helper()
	var reasons []string
	for _, l := range o.lines(t) {
		if l.Event == "stream.gap" {
			reasons = append(reasons, l.Reason)
		}
	}
	return reasons
}

func statuses(lines []printed) string {
	var s []string
	for _, l := range lines {
		s = append(s, l.To)
	}
	return strings.Join(s, " ")
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Logf("where readers are:\n%s", readersStacks())
			require.Fail(t, "did not come about in time", what)
		}
	}
}

// readersStacks are the stacks of all goroutines that read or write a stream, or listen.
func readersStacks() string {
	all := make([]byte, 4<<20)
	all = all[:runtime.Stack(all, true)]
	var some []string
	for one := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(one, "stream.(*") || strings.Contains(one, "events.(*") {
			some = append(some, one)
		}
	}
	return strings.Join(some, "\n\n")
}

func pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Config{URL: url})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func exec(t testing.TB, p *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := p.Exec(context.Background(), sql, args...)
	require.NoError(t, err)
}

func queryID(t testing.TB, p interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, sql string, args ...any,
) int64 {
	t.Helper()
	var id int64
	require.NoError(t, p.QueryRow(context.Background(), sql, args...).Scan(&id))
	return id
}

const insertRun = "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id"

func task(t testing.TB, p *pgxpool.Pool, name, kind string) int64 {
	t.Helper()
	return queryID(t, p, "INSERT INTO rowrun.task (name, type, max_attempts, retry_delay) VALUES ($1, $2, 3, '0') RETURNING id", name, kind)
}

// troubles is a log that shows, where the test fails, what went wrong.
func troubles(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel).With().Timestamp().Logger()
}

// listening starts a listener. Change may adapt its configuration.
func listening(t testing.TB, url string, change func(*events.ListenConfig)) (*events.Hub, *events.Listener) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	hub := events.NewHub()
	c := events.ListenConfig{ConnConfig: config, Channel: store.Channel, Hub: hub, Log: troubles(t)}
	if change != nil {
		change(&c)
	}
	listener, err := events.NewListener(c)
	require.NoError(t, err)
	background(t, listener.Run)
	return hub, listener
}

// background runs until the test ends, or stop is called.
func background(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
	})
	t.Cleanup(stop)
	return stop
}

// watcher is a reader of its own.
type watcher struct {
	output
	stop func()
}

// watch starts a reader and returns once it prints what happens.
func watch(t testing.TB, url string, change func(*stream.Config)) *watcher {
	t.Helper()
	w := &watcher{}
	hub, listener := listening(t, url, nil)
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: w})
	require.NoError(t, err)
	c := stream.Config{Store: open(t, url), Hub: hub, Connected: listener.Connected, Printer: printer, Log: troubles(t)}
	if change != nil {
		change(&c)
	}
	reader, err := stream.New(c)
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	w.stop = background(t, reader.Run)
	w.awaitBegin(t, pool(t, url))
	return w
}

// awaitBegin inserts runs that nobody takes until one is printed.
func (o *output) awaitBegin(t testing.TB, p *pgxpool.Pool) {
	t.Helper()
	id := queryID(t, p, `INSERT INTO rowrun.task (name, type) VALUES ('canary', 'CANARY')
		ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO UPDATE SET priority = 0 RETURNING id`)
	var first int64
	eventually(t, "the reader begins", func() bool {
		if run := queryID(t, p, insertRun, id); first == 0 {
			first = run
		}
		<-time.After(50 * time.Millisecond)
		return slices.ContainsFunc(o.lines(t), func(l printed) bool { return l.Type == "CANARY" && l.RunID >= first })
	})
}
