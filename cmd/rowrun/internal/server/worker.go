package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/store"
)

const (
	// maxWorkerBody bounds a request: 1,000 results of some KiB each.
	maxWorkerBody = 16 << 20
	// maxWorkerWait is how long a claim waits for a run to come.
	maxWorkerWait = 20 * time.Second
	// maxWorkersWaiting is how many claims wait at once; more are asked to come back.
	maxWorkersWaiting = 1000
	// workerTimeout is how long the database may take for one request.
	workerTimeout = 10 * time.Second
)

// WorkerStore is what the database does for workers. Its answers are JSON as it is sent.
type WorkerStore interface {
	ClaimForWorker(ctx context.Context, c store.WorkerClaim) (json.RawMessage, error)
	HeartbeatForWorker(ctx context.Context, worker string, claims []string) (json.RawMessage, error)
	FinishForWorker(ctx context.Context, results json.RawMessage, next store.WorkerClaim) (json.RawMessage, error)
	ReleaseForWorker(ctx context.Context, claims []string) (json.RawMessage, error)
}

// workers answers POST /api/v1/worker/….
type workers struct {
	store   WorkerStore
	hall    *hall
	stopped context.Context
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

func (r *workerRequest) claim(most int) store.WorkerClaim {
	return store.WorkerClaim{RequestID: r.RequestID, Worker: r.Worker, Types: r.Types, Max: most, Lease: (*string)(r.Lease)}
}

// register adds the endpoints, behind their own token.
func (ws *workers) register(mux *http.ServeMux, token string) {
	for name, answer := range map[string]func(context.Context, *workerRequest) (json.RawMessage, error){
		"claim": ws.claim,
		"heartbeat": func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
			return ws.store.HeartbeatForWorker(ctx, r.Worker, r.Claims)
		},
		"finish": func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
			return ws.store.FinishForWorker(ctx, r.Results, r.claim(r.ClaimNext))
		},
		"release": func(ctx context.Context, r *workerRequest) (json.RawMessage, error) {
			return ws.store.ReleaseForWorker(ctx, r.Claims)
		},
	} {
		mux.Handle("POST /api/v1/worker/"+name, workerGuard(token, workerHandler(answer)))
	}
}

// workerGuard asks for the token, on loopback too: these requests act.
func workerGuard(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token == "":
			refuseWorker(w, http.StatusForbidden, "", "workers are not served without a token", "start rowrun serve with --http-worker-token env:NAME or file:PATH")
		case !(guard{token: token}).knows(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="rowrun workers"`)
			refuseWorker(w, http.StatusUnauthorized, "", "the token of --http-worker-token is needed", "Authorization: Bearer …")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func workerHandler(answer func(context.Context, *workerRequest) (json.RawMessage, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		control := http.NewResponseController(w) // a claim may wait for longer than other requests take
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Now().Add(maxWorkerWait + 2*workerTimeout))
		text, err := answer(r.Context(), &request)
		if err != nil {
			failWorker(w, err)
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
		wait = min(max(time.Duration(*r.Wait*float64(time.Second)), 0), maxWorkerWait)
	}
	leave, err := ws.hall.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	ask := func() (json.RawMessage, error) {
		rt, cancel := context.WithTimeout(ctx, workerTimeout)
		defer cancel()
		return ws.store.ClaimForWorker(rt, r.claim(most))
	}
	turn := ws.hall.turn()
	answer, err := ask() // a request that is sent again may hold runs, whatever others find
	for {
		if err != nil || string(answer) != "[]" {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ws.stopped.Done():
			return nil, errDraining
		case <-deadline.C:
			return answer, nil
		case <-turn.over:
		}
		turn = ws.hall.turn()
		answer, err = turn.take(ctx, ws.stopped, strings.Join(r.Types, "\x00"), ask)
	}
}

var (
	errDraining = errors.New("this replica is shutting down")
	errFull     = errors.New("too many claims wait here")
)

// failWorker answers with what went wrong: 4xx where the same request will fail again.
func failWorker(w http.ResponseWriter, err error) {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, errFull):
		refuseWorker(w, http.StatusTooManyRequests, "", err.Error(), "ask again in a moment, or another replica")
	case errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "RR") || strings.HasPrefix(refused.Code, "22") || strings.HasPrefix(refused.Code, "23")):
		refuseWorker(w, http.StatusBadRequest, refused.Code, refused.Message, refused.Hint)
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "42"):
		refuseWorker(w, http.StatusInternalServerError, refused.Code, refused.Message, refused.Hint)
	default: // the database is away, restarts or is busy: the same request may be sent again
		refuseWorker(w, http.StatusServiceUnavailable, "", err.Error(), "send the same request again")
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
