package chaos_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ledger is what the outside saw: the app that is called, workers, and the receiver of webhooks.
type ledger struct {
	url string

	mu       sync.Mutex
	calls    []*call
	taken    sync.WaitGroup // what the app ends by itself
	bodies   map[string][]string
	tries    map[string]int
	verdicts []verdict
	refusals []refusal
	requests []request
	unread   []string // with what workers' results were refused
}

// call is one execution: a request to the app, or what a worker did.
type call struct {
	run    int64
	claim  string
	key    string // the same for the whole chain, "" for workers
	span   span
	status int // 0: the caller went away
}

// request is one of a worker's for runs, asked until it was answered.
type request struct {
	hash     string
	took     time.Duration
	answered bool
	told     []int64
}

type verdict struct {
	run         int64
	claim, said string
}

// refusal is what the app was told that ended a run which it had taken over.
type refusal struct {
	run        int64
	code, said string
}

func newLedger(t *testing.T, pool *pgxpool.Pool, rnd *rand.Rand) *ledger {
	t.Helper()
	l := &ledger{bodies: map[string][]string{}, tries: map[string]int{}}
	var dice sync.Mutex
	draw := func(n int) int {
		dice.Lock()
		defer dice.Unlock()
		return rnd.IntN(n)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/hook", func(w http.ResponseWriter, req *http.Request) { l.hook(w, req, draw) })
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) { l.app(w, req, pool, draw) })
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		l.taken.Wait()
	})
	l.url = server.URL
	return l
}

func (l *ledger) begin(c *call) *call {
	c.span = span{time.Now(), time.Now().Add(time.Hour)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
	return c
}

func (l *ledger) end(c *call, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.span.to, c.status = time.Now(), status
}

// app answers after a while: /ok with 200, /flaky with 500 the first time, /take with 202, after which it ends the run itself.
func (l *ledger) app(w http.ResponseWriter, req *http.Request, pool *pgxpool.Pool, draw func(int) int) {
	_, _ = io.Copy(io.Discard, req.Body)
	run, _ := strconv.ParseInt(req.Header.Get("Rowrun-Run-Id"), 10, 64)
	c := l.begin(&call{run: run, claim: req.Header.Get("Rowrun-Claim"), key: req.Header.Get("Idempotency-Key")})
	wait := time.Duration(draw(60)) * time.Millisecond
	if strings.HasPrefix(req.URL.Path, "/slow") {
		wait = time.Duration(200+draw(2500)) * time.Millisecond
	}
	select {
	case <-req.Context().Done():
		l.end(c, 0)
		return
	case <-time.After(wait):
	}
	status := http.StatusOK
	switch {
	case strings.HasPrefix(req.URL.Path, "/flaky") && req.Header.Get("Rowrun-Attempt") == "0":
		status = http.StatusInternalServerError
	case strings.HasPrefix(req.URL.Path, "/take"):
		status = http.StatusAccepted
		needs := time.Duration(30+draw(600)) * time.Millisecond
		l.taken.Go(func() { l.complete(pool, c, needs) })
	}
	l.end(c, status)
	w.WriteHeader(status)
}

// complete ends a run that the app took over, once it has done it; what was refused is over, what was not answered is asked again.
func (l *ledger) complete(pool *pgxpool.Pool, c *call, needs time.Duration) {
	<-time.After(needs)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(30 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		_, err := pool.Exec(ctx, "SELECT rowrun.complete_run($1, $2::text::uuid)", c.run, c.claim)
		cancel()
		if err == nil {
			return
		}
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if ok && strings.HasPrefix(refused.Code, "RR") {
			l.mu.Lock()
			l.refusals = append(l.refusals, refusal{c.run, refused.Code, refused.Message})
			l.mu.Unlock()
		}
		if ok && refused.Code == "RR002" {
			// Before the 202 was recorded the run is its replica's still: until its lease is over it may yet come.
			if time.Since(c.span.from) > 6*time.Second {
				return
			}
		}
	}
}

// hook keeps every message, takes its time, and refuses one in sixteen at its first try.
func (l *ledger) hook(w http.ResponseWriter, req *http.Request, draw func(int) int) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	<-time.After(time.Duration(draw(300)) * time.Millisecond)
	id := req.Header.Get("webhook-id")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries[id]++
	if l.tries[id] == 1 && strings.HasSuffix(id, "0") {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	l.bodies[id] = append(l.bodies[id], string(body))
	w.WriteHeader(http.StatusNoContent)
}
