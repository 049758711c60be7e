package api

import (
	"context"
	_ "embed" // openapi.json
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

//go:embed openapi.json
var openapi []byte

// requestTimeout is how long the database may take for one request, the wait for a slot included.
const requestTimeout = 8 * time.Second

// Config is what an API needs.
type Config struct {
	// Store is asked. Required.
	Store *store.Store
	// Pages are the dashboard's; nil: there are none.
	Pages http.Handler
	// ReadOnly: nobody acts here. Operators: somebody may, so that Run goes on with acts that others have left.
	ReadOnly, Operators bool
	// HideData leaves out payloads, inputs, results and logs.
	HideData bool
	// Version of the program, Deployment and Replica are shown, and Shard, where the process has several.
	Version, Deployment, Replica, Shard string
	// History is kept by whoever hears transitions; nil: there is none.
	History *History
	// Test sends a sample to a webhook, and says what went wrong; nil: webhooks aren't tested from here.
	Test func(ctx context.Context, webhook int64) (problem string, err error)
	// Slots is how many requests ask the database at once. Default 4.
	Slots int
	// Log gets what goes wrong.
	Log zerolog.Logger
}

// API answers requests. Run goes on with acts.
type API struct {
	config   Config
	store    *store.Store
	slots    chan struct{}
	kick     chan struct{} // an act was begun
	overview kept[overview]
	limits   kept[[]store.Limit]
	day      kept[past]
	week     kept[past]
	role     kept[store.BoardRole]
	grids    grids
	last     atomic.Pointer[string] // the last trouble: one that repeats is logged once
}

// New checks the configuration.
func New(c Config) (*API, error) {
	if c.Store == nil {
		return nil, errors.New("api: no store")
	}
	if c.Slots == 0 {
		c.Slots = 4
	}
	if c.History == nil {
		c.History = NewHistory()
	}
	return &API{
		config: c, store: c.Store, slots: make(chan struct{}, c.Slots), kick: make(chan struct{}, 1),
		overview: kept[overview]{life: time.Second}, limits: kept[[]store.Limit]{life: limitsLife}, day: kept[past]{life: pastLife}, week: kept[past]{life: pastLife}, role: kept[store.BoardRole]{life: 10 * time.Second},
	}, nil
}

// Handler serves /api/v1/ and the pages to whom guard lets in.
func (a *API) Handler(guard *auth.Guard) http.Handler {
	mux := http.NewServeMux()
	s := &server{API: a, guard: guard}
	s.routes(mux)
	if a.config.Pages != nil {
		mux.Handle("/", s.pages(a.config.Pages))
	}
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, &problem{http.StatusForbidden, "forbidden", "a page of another origin asked for this", "Open the dashboard under the address that it is asked by."})
	}))
	return headers(cross.Handler(mux))
}

// headers are those of every answer.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // no-referrer would make the origin of a page's own requests unknown
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// server is an API behind a guard.
type server struct {
	*API
	guard *auth.Guard
}

func (s *server) pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refusal := s.guard.Page(r); refusal != nil {
			http.Error(w, refusal.Message+": "+refusal.Hint, refusal.Status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) routes(mux *http.ServeMux) {
	for path, answer := range map[string]answer{
		"overview":               s.getOverview,
		"plans":                  s.listPlans,
		"plans/{id}":             s.getPlan,
		"plans/{id}/grid":        s.getGrid,
		"plans/{id}/edges":       s.getEdges,
		"plans/{id}/transitions": s.getTransitions,
		"plans/{id}/preview":     s.getPreview,
		"runs":                   s.listRuns,
		"runs/{id}":              s.getRun,
		"runs/{id}/log":          s.getLog,
		"tasks":                  s.listTasks,
		"tasks/{id}":             s.getTask,
		"types":                  s.listTypes,
		"schedules":              s.listSchedules,
		"webhooks":               s.listWebhooks,
		"webhooks/{id}":          s.getWebhook,
		"deliveries":             s.listDeliveries,
		"deliveries/{id}":        s.getDelivery,
		"replicas":               s.listReplicas,
		"limits":                 s.listLimits,
		"limits/{id}":            s.getLimit,
		"doctor":                 s.getDoctor,
		"acts":                   s.listActs,
		"acts/{id}":              s.getAct,
	} {
		mux.Handle("GET /api/v1/"+path, s.reads(answer))
	}
	mux.HandleFunc("GET /api/v1/session", s.getSession)
	mux.HandleFunc("POST /api/v1/session", s.signIn)
	mux.HandleFunc("DELETE /api/v1/session", s.signOut)
	mux.Handle("POST /api/v1/acts", s.acts(s.postAct))
	mux.Handle("POST /api/v1/acts/{id}/stop", s.acts(s.stopAct))
	mux.Handle("POST /api/v1/runs", s.acts(s.postRun))
	mux.Handle("POST /api/v1/tasks", s.acts(s.postTask))
	mux.Handle("POST /api/v1/plans", s.acts(s.postPlan))
	mux.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		if refusal := s.guard.Page(r); refusal != nil {
			refuse(w, refused(refusal))
			return
		}
		send(w, http.StatusOK, openapi)
	})
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		if methods := methodsOf(mux, r); len(methods) > 0 {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			refuse(w, &problem{http.StatusMethodNotAllowed, "method_not_allowed", "this takes no " + printable(r.Method), "It takes " + strings.Join(methods, ", ") + "."})
			return
		}
		refuse(w, &problem{http.StatusNotFound, "not_found", "there is nothing of that name here", "GET /api/v1/openapi.json names what there is."})
	})
}

// methodsOf are the methods by which the path of a request is answered, apart from what answers every path of the API.
func methodsOf(mux *http.ServeMux, r *http.Request) []string {
	return slices.DeleteFunc([]string{http.MethodGet, http.MethodPost, http.MethodDelete}, func(method string) bool {
		other := *r
		other.Method = method
		_, pattern := mux.Handler(&other)
		return pattern == "/api/"
	})
}

// answer reads a request and says what is answered.
type answer func(ctx context.Context, r *http.Request, who auth.Who) (any, error)

// reads is an answer to those who may read.
func (s *server) reads(next answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, refusal := s.guard.Read(r)
		if refusal != nil {
			refuse(w, refused(refusal))
			return
		}
		s.serve(w, r, who, next)
	})
}

// acts is an answer to those who may act.
func (s *server) acts(next answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, refusal := s.guard.Act(r)
		switch {
		case refusal != nil:
			refuse(w, refused(refusal))
		case s.config.ReadOnly:
			refuse(w, &problem{http.StatusForbidden, "forbidden", "this dashboard is read-only", "--ui on lets operators act."})
		default:
			s.serve(w, r, who, next)
		}
	})
}

// serve asks within a slot and a deadline.
func (s *server) serve(w http.ResponseWriter, r *http.Request, who auth.Who, next answer) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		w.Header().Set("Retry-After", "2")
		refuse(w, &problem{http.StatusServiceUnavailable, "unavailable", "too many requests ask the database at once", "Ask again in a moment."})
		return
	}
	value, err := next(ctx, r, who)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w = &packer{w}
	}
	write(w, http.StatusOK, value)
}
