package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server/servertest"
	"github.com/rowrun/rowrun/store"
)

// workerStore stands for the database: what it answers to claims is the test's, the rest is well.
type workerStore struct {
	claim func(ctx context.Context, c store.WorkerClaim) (string, bool, error)
	rest  func() error
	calls atomic.Int64 // claims
}

func (s *workerStore) ClaimForWorker(ctx context.Context, c store.WorkerClaim) (json.RawMessage, bool, error) {
	s.calls.Add(1)
	answer, rests, err := s.claim(ctx, c)
	return json.RawMessage(answer), rests, err
}

func (s *workerStore) other() (json.RawMessage, error) {
	if s.rest != nil {
		return nil, s.rest()
	}
	return json.RawMessage(`{"ok": true}`), nil
}

func (s *workerStore) HeartbeatForWorker(context.Context, string, []string) (json.RawMessage, error) {
	return s.other()
}

func (s *workerStore) FinishForWorker(context.Context, json.RawMessage, store.WorkerClaim) (json.RawMessage, error) {
	return s.other()
}

func (s *workerStore) ReleaseForWorker(context.Context, []string) (json.RawMessage, error) {
	return s.other()
}

func nothing(context.Context, store.WorkerClaim) (string, bool, error) { return "[]", false, nil }

// workerServer serves workers for the test's length.
type workerServer struct {
	*servertest.Served
	wake chan struct{}
}

func serveWorkers(t *testing.T, workers *workerStore) *workerServer {
	t.Helper()
	wake := make(chan struct{}, 1)
	return &workerServer{wake: wake, Served: servertest.Serve(t, server.Config{
		Workers: workers, WorkerToken: "token", WorkerWake: wake, WorkerSlots: 4,
	})}
}

type workerReply struct {
	status      int
	retry, body string
	err         error
}

// post may be called from any goroutine.
func (w *workerServer) post(ctx context.Context, name, token, body string) (r workerReply) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/api/v1/worker/"+name, strings.NewReader(body))
	if err != nil {
		return workerReply{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return workerReply{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return workerReply{resp.StatusCode, resp.Header.Get("Retry-After"), strings.TrimSpace(string(text)), err}
}

// claims asks from a goroutine of its own.
func (w *workerServer) claims(ctx context.Context, worker, wait string) <-chan workerReply {
	replies := make(chan workerReply, 1)
	go func() {
		replies <- w.post(ctx, "claim", "token", `{"request_id": "10000000-0000-4000-8000-000000000000", "worker": "`+worker+`", "types": ["OWN"], "wait": `+wait+`}`)
	}()
	return replies
}

func awaitCalls(t *testing.T, s *workerStore, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return s.calls.Load() >= n }, 10*time.Second, time.Millisecond)
}

func TestWorkersNeedTheirToken(t *testing.T) {
	t.Parallel()
	w := serveWorkers(t, &workerStore{claim: nothing})
	for _, name := range []string{"claim", "heartbeat", "finish", "release"} {
		r := w.post(t.Context(), name, "wrong", `{}`)
		require.NoError(t, r.err)
		require.Equal(t, http.StatusUnauthorized, r.status, name)
		require.Contains(t, r.body, "--http-worker-token")
		r = w.post(t.Context(), name, "token", `{"wait": 0}`)
		require.Equal(t, http.StatusOK, r.status, r.body)
	}
	status, _ := get(t, w.URL+"/api/v1/worker/claim")
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestWorkersAreToldWhatIsWrongWithARequest(t *testing.T) {
	t.Parallel()
	s := &workerStore{claim: nothing}
	w := serveWorkers(t, s)
	for body, message := range map[string]string{
		`{`:                    "the body can't be read",
		`[]`:                   "the body can't be read",
		`{"unheard_of": 1}`:    "unknown field",
		`{} {}`:                "more than one JSON object",
		`{"request_id": "x"}`:  "request_id is no uuid",
		`{"claims": ["x"]}`:    "claim 1 of claims is no uuid",
		`{"max": 0}`:           "a worker claims 1 to 1000 runs at once, not 0",
		`{"max": 99999999999}`: "a worker claims 1 to 1000 runs at once, not 99999999999",
		`{"claim_next": -1}`:   "a worker claims up to 1000 runs at once, not -1",
		`{"lease": {}}`:        "lease is neither a number of seconds nor a text",
	} {
		for _, name := range []string{"claim", "finish"} {
			r := w.post(t.Context(), name, "token", body)
			require.NoError(t, r.err)
			require.Equal(t, http.StatusBadRequest, r.status, r.body)
			require.Contains(t, r.body, message)
		}
	}
	require.Zero(t, s.calls.Load(), "the database is not asked")
}

// What will fail again is 4xx, what may not is 503 and says when to come back; nothing tells where the database is.
func TestWorkersAreToldWhetherToSendItAgain(t *testing.T) {
	t.Parallel()
	var failure error
	s := &workerStore{claim: nothing, rest: func() error { return failure }}
	w := serveWorkers(t, s)
	for _, one := range []struct {
		err    error
		status int
		text   string
	}{
		{&pgconn.PgError{Code: "RR003", Message: "no", Hint: "yes"}, http.StatusBadRequest, `{"error":{"code":"RR003","message":"no","hint":"yes"}}`},
		{&pgconn.PgError{Code: "22P02", Message: "no"}, http.StatusBadRequest, "22P02"},
		{&pgconn.PgError{Code: "42501", Message: "no"}, http.StatusInternalServerError, "42501"},
		{&pgconn.PgError{Code: "40P01", Message: "no"}, http.StatusServiceUnavailable, "40P01"},
		{&pgconn.PgError{Code: "23505", Message: "worker_request_pkey"}, http.StatusServiceUnavailable, "23505"},
		{&pgconn.PgError{Code: "25006", Message: "no"}, http.StatusServiceUnavailable, "25006"},
		{errors.New("dial secret-host"), http.StatusServiceUnavailable, "the database doesn't answer"},
	} {
		failure = one.err
		r := w.post(t.Context(), "finish", "token", `{}`)
		require.Equal(t, one.status, r.status, r.body)
		require.Contains(t, r.body, one.text)
		require.NotContains(t, r.body, "secret-host")
		require.Equal(t, one.status == http.StatusServiceUnavailable, r.retry == "1", "Retry-After")
	}
}

func TestAClaimWaitsForAWakeUpOrItsTime(t *testing.T) {
	t.Parallel()
	var there atomic.Bool
	s := &workerStore{}
	s.claim = func(context.Context, store.WorkerClaim) (string, bool, error) {
		if there.Load() {
			return `[{"run_id": 1}]`, false, nil
		}
		return "[]", false, nil
	}
	w := serveWorkers(t, s)
	began := time.Now()
	r := <-w.claims(t.Context(), "w", "0.3")
	require.Equal(t, http.StatusOK, r.status)
	require.Equal(t, "[]", r.body, "an empty list, never 204")
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)

	asked := s.calls.Load()
	waiting := w.claims(t.Context(), "w", "20")
	awaitCalls(t, s, asked+1)
	there.Store(true)
	began = time.Now()
	w.wake <- struct{}{}
	r = <-waiting
	require.Equal(t, `[{"run_id": 1}]`, r.body)
	require.Less(t, time.Since(began), 10*time.Second, "it would wait for 20 s")
}

// Those who wait for the same types ask until one of them finds nothing; one that is paused speaks for nobody.
func TestAPausedWorkerTakesNobodysTurn(t *testing.T) {
	t.Parallel()
	var there atomic.Bool
	s := &workerStore{}
	s.claim = func(_ context.Context, c store.WorkerClaim) (string, bool, error) {
		if strings.HasPrefix(c.Worker, "paused") {
			return "[]", true, nil
		}
		if there.Swap(false) {
			return `[{"run_id": 1}]`, false, nil
		}
		return "[]", false, nil
	}
	w := serveWorkers(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 20 {
		w.claims(ctx, "paused", "20")
	}
	works := w.claims(ctx, "works", "20")
	awaitCalls(t, s, 21)
	for range 3 {
		there.Store(true)
		began := time.Now()
		w.wake <- struct{}{}
		require.Equal(t, `[{"run_id": 1}]`, (<-works).body)
		require.Less(t, time.Since(began), 10*time.Second, "it would wait for 20 s")
		asked := s.calls.Load()
		works = w.claims(ctx, "works", "20")
		awaitCalls(t, s, asked+1)
	}
}

func TestOneThousandClaimsWaitAndNoMore(t *testing.T) {
	t.Parallel()
	s := &workerStore{claim: nothing}
	w := serveWorkers(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	for waiting := int64(50); waiting <= 1000; waiting += 50 { // a busy machine doesn't serve 1,000 new connections in the 2 s that a header may take
		for range 50 {
			w.claims(ctx, "w", "20")
		}
		awaitCalls(t, s, waiting)
	}
	var r workerReply
	require.Eventually(t, func() bool {
		if r = <-w.claims(t.Context(), "w", "0"); r.status == http.StatusTooManyRequests {
			return true
		}
		for range 50 { // in place of those whose 20 s were over before the last ones came
			w.claims(ctx, "w", "20")
		}
		return false
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "1", r.retry)
	asked := s.calls.Load()
	w.wake <- struct{}{}
	awaitCalls(t, s, asked+1)
	<-w.claims(t.Context(), "w", "0")
	require.Less(t, s.calls.Load(), asked+100, "one asks for all")
	cancel()
	require.Eventually(t, func() bool { return (<-w.claims(t.Context(), "w", "0")).status == http.StatusOK }, 10*time.Second, 10*time.Millisecond)
}

// The database's connections are the replica's too: few statements of workers run at once, the others wait.
func TestWorkersTakeFewConnections(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	proceed := make(chan struct{})
	s := &workerStore{claim: func(context.Context, store.WorkerClaim) (string, bool, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-proceed
		return `[{}]`, false, nil
	}}
	w := serveWorkers(t, s)
	var replies []<-chan workerReply
	for range 10 {
		replies = append(replies, w.claims(t.Context(), "w", "0"))
	}
	awaitCalls(t, s, 4)
	close(proceed)
	for _, reply := range replies {
		require.Equal(t, http.StatusOK, (<-reply).status)
	}
	require.Equal(t, int64(4), most.Load())
}

// Where the database gives no answer, who waits behind the one that asked is told of it at once: asked one after the other each
// would wait as long, and the last ones for longer than a connection lives.
func TestClaimsThatWaitBehindOneWithoutAnAnswerGetNoneEither(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"away": errors.New("read tcp: i/o timeout"), "too long": &pgconn.PgError{Code: "57014", Message: "statement timeout"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const waiting = 10
			var away atomic.Bool
			answer := make(chan struct{})
			s := &workerStore{claim: func(context.Context, store.WorkerClaim) (string, bool, error) {
				if !away.Load() {
					return "[]", false, nil
				}
				<-answer
				return "", false, failure
			}}
			w := serveWorkers(t, s)
			var replies []<-chan workerReply
			for range waiting {
				replies = append(replies, w.claims(t.Context(), "w", "20"))
			}
			awaitCalls(t, s, waiting)
			away.Store(true)
			w.wake <- struct{}{}
			awaitCalls(t, s, waiting+1)
			close(answer)
			for _, reply := range replies {
				r := <-reply
				require.NoError(t, r.err)
				require.Equal(t, http.StatusServiceUnavailable, r.status, r.body)
				require.Equal(t, "1", r.retry)
			}
			require.Less(t, s.calls.Load(), int64(2*waiting), "one has asked for all")
		})
	}
}

// What a server refuses is the request's own: who waits behind it asks for itself.
func TestARefusedClaimEndsNobodysTurn(t *testing.T) {
	t.Parallel()
	var there atomic.Bool
	var refused atomic.Int64
	s := &workerStore{claim: func(_ context.Context, c store.WorkerClaim) (string, bool, error) {
		switch {
		case !there.Load():
			return "[]", false, nil
		case strings.HasPrefix(c.Worker, "refused"):
			refused.Add(1)
			return "", false, &pgconn.PgError{Code: "RR003", Message: "no"}
		}
		return `[{"run_id": 1}]`, false, nil
	}}
	w := serveWorkers(t, s)
	var replies []<-chan workerReply
	for range 5 {
		replies = append(replies, w.claims(t.Context(), "refused", "20"))
	}
	works := w.claims(t.Context(), "works", "20")
	awaitCalls(t, s, 6)
	there.Store(true)
	w.wake <- struct{}{}
	require.Equal(t, `[{"run_id": 1}]`, (<-works).body)
	for _, reply := range replies {
		require.Equal(t, http.StatusBadRequest, (<-reply).status)
	}
	require.Equal(t, int64(5), refused.Load())
}

func TestADrainSendsWaitingClaimsElsewhere(t *testing.T) {
	t.Parallel()
	s := &workerStore{claim: nothing}
	w := serveWorkers(t, s)
	waiting := w.claims(t.Context(), "w", "20")
	awaitCalls(t, s, 1)
	w.Drain()
	for _, r := range []workerReply{<-waiting, <-w.claims(t.Context(), "w", "0")} {
		require.Equal(t, http.StatusServiceUnavailable, r.status)
		require.Equal(t, "1", r.retry)
		require.Contains(t, r.body, "shutting down")
	}
	r := w.post(t.Context(), "finish", "token", `{}`)
	require.Equal(t, http.StatusOK, r.status, "what they have done is recorded to the end")
}
