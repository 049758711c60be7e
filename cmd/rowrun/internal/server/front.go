package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
)

// FrontConfig is what a Front needs.
type FrontConfig struct {
	// Addr is the host:port to listen on. Required; port 0 takes a free one.
	Addr string
	// Away says why nothing is served yet; nil: it is about to be. Its text is shown to whoever asks. Required. It must return
	// soon after ctx ends.
	Away func(ctx context.Context) error
	// Log gets one line when something is served and what goes wrong in it.
	Log zerolog.Logger
}

// Front is the address of a process that has to wait before there is anything to serve. Until it is given a Surface it answers
// /livez with 200, and all else with 503: /readyz says why.
type Front struct {
	*listening
	early  *http.ServeMux
	served atomic.Pointer[Surface]
}

// NewFront checks the configuration and binds the address, so that a port that is taken is known before anything else has
// started. Run answers there, and closes it.
func NewFront(config FrontConfig) (*Front, error) {
	if config.Away == nil {
		return nil, errors.New("a front needs what says why nothing is served")
	}
	ready, err := newReadiness([]Check{{Name: "start", Ask: func(ctx context.Context) error {
		if err := config.Away(ctx); err != nil {
			return err
		}
		return errors.New("is starting")
	}}})
	if err != nil {
		return nil, err
	}
	l, err := listen(config.Addr, config.Log)
	if err != nil {
		return nil, err
	}
	f := &Front{listening: l, early: http.NewServeMux()}
	f.early.HandleFunc("GET /livez", live)
	f.early.Handle("GET /readyz", ready)
	f.early.HandleFunc("/", unserved)
	l.http.Handler = f
	return f, nil
}

// Guard judges the requests of what is served here: config says by which tokens.
func (f *Front) Guard(config Config) *auth.Guard { return f.guard(config) }

// Serve has a Surface answer from now on.
func (f *Front) Serve(surface *Surface) {
	f.served.Store(surface)
	f.started()
}

// ServeHTTP answers a request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if surface := f.served.Load(); surface != nil {
		surface.ServeHTTP(w, r)
		return
	}
	f.early.ServeHTTP(w, r)
}

// Run answers until ctx ends; requests under way then have two seconds.
func (f *Front) Run(ctx context.Context) error { return f.run(ctx) }

// unserved tells nobody anything, and so is for everybody.
func unserved(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, "the database was not reached yet: /readyz says why", http.StatusServiceUnavailable)
}
