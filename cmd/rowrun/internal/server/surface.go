package server

import (
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
)

// Config says what a Surface serves, and to whom.
type Config struct {
	// Checks decide on /readyz, asked in this order.
	Checks []Check
	// Metrics answers /metrics; nil: 404.
	Metrics http.Handler
	// Status is asked for what /status tells; nil: 404. It must return soon after ctx ends.
	Status func(ctx context.Context) Status
	// History is what /events reads; nil: 404. Follow, where not nil, is called
	// when somebody begins to read it and returns when lines flow into it; what
	// it returns is called when they end. Its error is shown to them.
	History *history.History
	Follow  func(ctx context.Context) (unfollow func(), err error)
	// Comment is how often a reader of /events hears something while nothing happens. Default 15 s.
	Comment time.Duration
	// Token is asked for by /status, /events and the dashboard; "": none, and they are served on loopback only, or to operators.
	Token string
	// Operators may act on the dashboard. Deployment tells its sessions from those of others.
	Operators  []auth.Operator
	Deployment string
	// Dashboard makes what answers /api/v1/ and the pages, behind a guard; nil: 404. With a Prefix, a path such as /rowrun, it is
	// served below that, with /status and /events, which stay where they are too.
	Dashboard func(*auth.Guard) http.Handler
	Prefix    string
	// HideData has /events leave out the texts of failures.
	HideData bool
	// Workers is what workers ask, with WorkerToken; nil: 404. WorkerWake tells that runs may have come for those who wait.
	// WorkerSlots is how many of their statements run at once. Default 2.
	Workers     WorkerStore
	WorkerToken string
	WorkerWake  <-chan struct{}
	WorkerSlots int
	// Log gets what goes wrong.
	Log zerolog.Logger
}

// Surface is what is served of one replica, at whatever address. Run it while it is served.
type Surface struct {
	mux     *http.ServeMux
	ready   *readiness
	stop    context.CancelFunc // ends the readers of /events
	drain   context.CancelFunc // ends the claims of workers
	hall    *hall
	wake    <-chan struct{}
	stopped context.Context
}

// NewSurface checks the configuration, but for Token, Operators and Deployment, which are the guard's.
func NewSurface(config Config, guard *auth.Guard) (*Surface, error) {
	if config.WorkerSlots == 0 {
		config.WorkerSlots = 2
	}
	if config.Comment == 0 {
		config.Comment = eventsComment
	}
	ready, err := newReadiness(config.Checks)
	if err != nil {
		return nil, err
	}
	stopped, stop := context.WithCancel(context.Background())
	draining, drain := context.WithCancel(stopped)
	s := &Surface{
		mux: http.NewServeMux(), ready: ready, stop: stop, drain: drain, hall: newHall(), wake: config.WorkerWake, stopped: stopped,
	}
	s.mux.HandleFunc("GET /livez", live)
	s.mux.Handle("GET /readyz", ready)
	if config.Metrics != nil {
		s.mux.Handle("GET /metrics", config.Metrics)
	}
	guarded := func(pattern string, handler http.Handler) {
		s.mux.Handle("GET "+pattern, guard.Protect(handler))
		if config.Prefix != "" {
			s.mux.Handle("GET "+config.Prefix+pattern, guard.Protect(handler))
		}
	}
	if config.Status != nil {
		guarded("/status", &statusHandler{ask: config.Status})
	}
	if config.History != nil {
		guarded("/events", &eventsHandler{
			history: config.History, follow: config.Follow, stopped: stopped, comment: config.Comment, veiled: config.HideData,
		})
	}
	if config.Dashboard != nil {
		s.mux.Handle(config.Prefix+"/", http.StripPrefix(config.Prefix, config.Dashboard(guard)))
	}
	if config.Workers != nil {
		(&workers{
			store: config.Workers, hall: s.hall, draining: draining, slots: make(chan struct{}, max(1, config.WorkerSlots)),
			log: config.Log,
		}).register(s.mux, config.WorkerToken)
	}
	return s, nil
}

// ServeHTTP answers a request.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Drain has claims of workers answered with 503, those that wait at once: they go to another replica. What else workers send
// is answered until Run ends.
func (s *Surface) Drain() { s.drain() }

// Run wakes those who wait here until ctx ends; then it ends the readers of /events. It returns nil.
func (s *Surface) Run(ctx context.Context) error {
	defer s.stop()
	ended := context.AfterFunc(ctx, s.stop)
	defer ended()
	s.hall.run(s.stopped, s.wake)
	return nil
}

func live(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}
