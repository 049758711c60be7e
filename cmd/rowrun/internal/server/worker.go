package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

const (
	// maxWorkerBody bounds a request: 1,000 results of some KiB each.
	maxWorkerBody = 16 << 20
	// maxWorkerRead is how long a body may take.
	maxWorkerRead = 30 * time.Second
	// maxWorkerWait is how long a claim waits for a run to come.
	maxWorkerWait = 20 * time.Second
	// maxWorkersWaiting is how many claims wait at once; more are asked to come back.
	maxWorkersWaiting = 1000
	// maxWorkerClaim is how many runs one request takes, ends or gives back at most.
	maxWorkerClaim = 1000
	// workerTimeout is how long the database may take for one request, the wait for a connection included.
	workerTimeout = 10 * time.Second
)

// WorkerStore is what the database does for workers. Its answers are JSON as it is sent.
type WorkerStore interface {
	ClaimForWorker(ctx context.Context, c store.WorkerClaim) (answer json.RawMessage, rests bool, err error)
	HeartbeatForWorker(ctx context.Context, worker string, claims []string) (json.RawMessage, error)
	FinishForWorker(ctx context.Context, results json.RawMessage, next store.WorkerClaim) (json.RawMessage, error)
	ReleaseForWorker(ctx context.Context, claims []string) (json.RawMessage, error)
}

// workers answers POST /api/v1/worker/….
type workers struct {
	store    WorkerStore
	hall     *hall
	slots    chan struct{}   // a statement each: the replica's own need connections too
	draining context.Context // ends when no claim is answered any more
	log      zerolog.Logger
	last     atomic.Pointer[string] // the last trouble: one that repeats is logged once
}

// trouble logs what isn't the worker's fault.
func (ws *workers) trouble(err error) {
	text := err.Error()
	if last := ws.last.Swap(&text); last == nil || *last != text {
		ws.log.Warn().Err(err).Msg("a worker's request failed")
	}
}

// workerRequest is the body of all of them.
type workerRequest struct {
	RequestID string          `json:"request_id"`
	Worker    string          `json:"worker"`
	Types     []string        `json:"types"`
	Max       *int            `json:"max"`
	Lease     *lease          `json:"lease"`
	Wait      *float64        `json:"wait"` // in s; default and at most 20
	Claims    []string        `json:"claims"`
	Results   json.RawMessage `json:"results"`
	ClaimNext int             `json:"claim_next"`
}

// lease is a number of seconds, or a text as PostgreSQL reads an interval.
type lease string

// UnmarshalJSON takes both.
func (l *lease) UnmarshalJSON(text []byte) error {
	var seconds float64
	if json.Unmarshal(text, &seconds) == nil {
		*l = lease(strconv.FormatFloat(seconds, 'f', -1, 64) + " s")
		return nil
	}
	var s string
	if json.Unmarshal(text, &s) != nil || strings.TrimSpace(s) == "" {
		return errors.New(`lease is neither a number of seconds nor a text such as "1 min"`)
	}
	*l = lease(s)
	return nil
}

// check refuses what the database can't be asked.
func (r *workerRequest) check() error {
	if r.RequestID != "" && !isUUID(r.RequestID) {
		return &badRequest{"request_id is no uuid", "a random one, new for each request and the same when it is sent again"}
	}
	for i, claim := range r.Claims {
		if !isUUID(claim) {
			return &badRequest{fmt.Sprintf("claim %d of claims is no uuid", i+1), "send claims as they were given"}
		}
	}
	if r.Max != nil && (*r.Max < 1 || *r.Max > maxWorkerClaim) {
		return &badRequest{fmt.Sprintf("a worker claims 1 to %d runs at once, not %d", maxWorkerClaim, *r.Max), "max: as many as it has free hands"}
	}
	if r.ClaimNext < 0 || r.ClaimNext > maxWorkerClaim {
		return &badRequest{fmt.Sprintf("a worker claims up to %d runs at once, not %d", maxWorkerClaim, r.ClaimNext), "claim_next: as many as it has free hands"}
	}
	return nil
}

func isUUID(text string) bool { return new(pgtype.UUID).Scan(text) == nil }

// badRequest is what the worker has to change.
type badRequest struct{ message, hint string }

func (e *badRequest) Error() string { return e.message }

func (r *workerRequest) claim(most int) store.WorkerClaim {
	return store.WorkerClaim{RequestID: r.RequestID, Worker: r.Worker, Types: r.Types, Max: most, Lease: (*string)(r.Lease)}
}

// register adds the endpoints, behind their own token.
func (ws *workers) register(mux *http.ServeMux, token string) {
	for name, answer := range map[string]func(context.Context, *workerRequest) (json.RawMessage, error){
		"claim": ws.claim,
		"heartbeat": ws.one(func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
			return ws.store.HeartbeatForWorker(ctx, r.Worker, r.Claims)
		}),
		"finish": ws.one(func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
			return ws.store.FinishForWorker(ctx, r.Results, r.claim(r.ClaimNext))
		}),
		"release": ws.one(func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
			return ws.store.ReleaseForWorker(ctx, r.Claims)
		}),
	} {
		mux.Handle("POST /api/v1/worker/"+name, workerGuard(token, ws.handler(answer)))
	}
}

// one has a question asked when a connection is free for it.
func (ws *workers) one(ask func(context.Context, *workerRequest) (json.RawMessage, error)) func(context.Context, *workerRequest) (json.RawMessage, error) {
	return func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
		ctx, cancel := context.WithTimeout(ctx, workerTimeout)
		defer cancel()
		select {
		case ws.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, errBusy
		}
		defer func() { <-ws.slots }()
		return ask(ctx, r)
	}
}

// workerGuard asks for the token, on loopback too: these requests act.
func workerGuard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token == "":
			refuseWorker(w, http.StatusForbidden, "", "workers are not served without a token", "start rowrun serve with --http-worker-token env:NAME or file:PATH")
		case !auth.Bearer(r, token):
			w.Header().Set("WWW-Authenticate", `Bearer realm="rowrun workers"`)
			refuseWorker(w, http.StatusUnauthorized, "", "the token of --http-worker-token is needed", "Authorization: Bearer …")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (ws *workers) handler(answer func(context.Context, *workerRequest) (json.RawMessage, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A batch of results takes its time, and a claim may wait for longer than other requests take.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(maxWorkerRead))
		_ = control.SetWriteDeadline(time.Now().Add(maxWorkerRead + maxWorkerWait + 2*workerTimeout))
		var request workerRequest
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxWorkerBody))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&request); err != nil {
			refuseWorker(w, http.StatusBadRequest, "", "the body can't be read: "+err.Error(), "send one JSON object; docs/workers.md lists its members")
			return
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			refuseWorker(w, http.StatusBadRequest, "", "the body has more than one JSON object", "send one")
			return
		}
		if err := request.check(); err != nil {
			ws.fail(w, err)
			return
		}
		_ = control.SetReadDeadline(time.Time{})
		text, err := answer(r.Context(), &request)
		if err != nil {
			ws.fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(text, '\n'))
	})
}

// claim waits until there is something, or for as long as the worker asks for.
func (ws *workers) claim(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
	most, wait := 1, maxWorkerWait
	if r.Max != nil {
		most = *r.Max
	}
	if r.Wait != nil {
		wait = time.Duration(min(max(*r.Wait, 0), maxWorkerWait.Seconds()) * float64(time.Second))
	}
	leave, err := ws.hall.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	waits, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	rests := false
	claim := ws.one(func(ctx context.Context, r *workerRequest) (answer json.RawMessage, err error) {
		answer, rests, err = ws.store.ClaimForWorker(ctx, r.claim(most))
		return answer, err
	})
	ask := func() (json.RawMessage, bool, error) {
		answer, err := claim(ctx, r)
		return answer, rests, err
	}
	if ws.draining.Err() != nil {
		return nil, errDraining
	}
	turn := ws.hall.turn()
	answer, _, err := ask() // a request that is sent again may hold runs, whatever others find
	for {
		if err != nil || string(answer) != "[]" {
			return answer, err
		}
		select {
		case <-waits.Done():
			return answer, ctx.Err()
		case <-ws.draining.Done():
			return nil, errDraining
		case <-turn.over:
		}
		turn = ws.hall.turn()
		answer, err = turn.take(ctx, waits, ws.draining, strings.Join(r.Types, "\x00"), ask)
	}
}

var (
	errDraining = errors.New("this replica is shutting down")
	errFull     = errors.New("too many claims wait here")
	errBusy     = errors.New("too many requests of workers are asked at once")
)

// fail answers with what went wrong: 4xx where the same request will fail again.
func (ws *workers) fail(w http.ResponseWriter, err error) {
	var refused *pgconn.PgError
	var bad *badRequest
	switch {
	case errors.Is(err, context.Canceled): // who asked has gone
	case errors.As(err, &bad):
		refuseWorker(w, http.StatusBadRequest, "", bad.message, bad.hint)
	case errors.Is(err, errFull):
		refuseWorker(w, http.StatusTooManyRequests, "", err.Error(), "ask again in a moment, or another replica")
	case errors.As(err, &refused) && refused.Code == "23505": // an equal request came in at the same moment: it has been answered by now
		refuseWorker(w, http.StatusServiceUnavailable, refused.Code, "an equal request was answered meanwhile", "send the same request again")
	case errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "RR") || strings.HasPrefix(refused.Code, "22") || strings.HasPrefix(refused.Code, "23")):
		refuseWorker(w, http.StatusBadRequest, refused.Code, refused.Message, refused.Hint)
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "42"):
		ws.trouble(err)
		refuseWorker(w, http.StatusInternalServerError, refused.Code, refused.Message, refused.Hint)
	case errors.Is(err, errDraining), errors.Is(err, errBusy):
		refuseWorker(w, http.StatusServiceUnavailable, "", err.Error(), "send the same request again, or to another replica")
	case errors.As(err, &refused):
		refuseWorker(w, http.StatusServiceUnavailable, refused.Code, refused.Message, "send the same request again")
	default: // the database is away; what stands in the error is for the log
		ws.trouble(err)
		refuseWorker(w, http.StatusServiceUnavailable, "", "the database doesn't answer", "send the same request again")
	}
}

func refuseWorker(w http.ResponseWriter, status int, code, message, hint string) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	type problem struct {
		Code    string `json:"code,omitempty"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	_ = json.NewEncoder(w).Encode(map[string]problem{"error": {code, message, hint}})
}
