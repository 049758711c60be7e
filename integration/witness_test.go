package integration_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// call is a request that a run made.
type call struct {
	run     int64
	attempt int
	claim   string
	key     string
	aborted chan struct{} // closed when the sidecar gave the request up
	answer  func()        // lets a call of /wait end with 200
}

// witness is the app beside the sidecar: what it saw is what happened. It answers
// /ok with 200, /take with 202, and /wait when it is told to.
type witness struct {
	url string

	mu    sync.Mutex
	calls map[int64][]*call
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{calls: map[int64][]*call{}}
	server := httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.url = server.URL
	return w
}

// app are the flags of a replica beside it.
func (w *witness) app() []string { return []string{"--app-url", w.url} }

func (w *witness) serve(resp http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body) // the server looks for an abort only behind the body
	answered := make(chan struct{})
	c := &call{aborted: make(chan struct{}), answer: sync.OnceFunc(func() { close(answered) })}
	var err, bad error
	c.run, err = strconv.ParseInt(req.Header.Get("Rowrun-Run-Id"), 10, 64)
	c.attempt, bad = strconv.Atoi(req.Header.Get("Rowrun-Attempt"))
	if err != nil || bad != nil {
		http.Error(resp, "no run", http.StatusBadRequest)
		return
	}
	c.claim, c.key = req.Header.Get("Rowrun-Claim"), req.Header.Get("Idempotency-Key")
	w.mu.Lock()
	w.calls[c.run] = append(w.calls[c.run], c)
	w.mu.Unlock()
	switch req.URL.Path {
	case "/ok":
	case "/take":
		resp.WriteHeader(http.StatusAccepted)
	case "/wait":
		select {
		case <-req.Context().Done():
			close(c.aborted)
		case <-answered:
		}
	default:
		http.NotFound(resp, req)
	}
}

// of are the calls that a run made.
func (w *witness) of(run int64) []*call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*call(nil), w.calls[run]...)
}

// total is how many calls all runs made.
func (w *witness) total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, calls := range w.calls {
		n += len(calls)
	}
	return n
}

// await returns a run's first call when it has come.
func (w *witness) await(t *testing.T, run int64) *call {
	t.Helper()
	eventually(t, patience, "a call of run "+strconv.FormatInt(run, 10), func() bool { return len(w.of(run)) > 0 })
	calls := w.of(run)
	require.Len(t, calls, 1)
	return calls[0]
}

// awaitAbort waits until the sidecar has given a call up.
func (c *call) awaitAbort(t *testing.T) {
	t.Helper()
	eventually(t, patience, "the abort of run "+strconv.FormatInt(c.run, 10), func() bool {
		select {
		case <-c.aborted:
			return true
		default:
			return false
		}
	})
}
