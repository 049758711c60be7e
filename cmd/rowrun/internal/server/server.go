package server

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
)

// Limits of one request: they are small and quick, whoever asks. What /events
// writes has deadlines of its own.
const (
	readHeaderTimeout = 2 * time.Second
	readTimeout       = 5 * time.Second
	writeTimeout      = 10 * time.Second
	idleTimeout       = time.Minute
	shutdownTimeout   = 2 * time.Second
	maxHeaderBytes    = 16 << 10
)

// Config is what a Server needs.
type Config struct {
	// Addr is the host:port to listen on. Required by New; port 0 takes a free one.
	Addr string
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
	// Log gets one line when the server starts and what goes wrong in it.
	Log zerolog.Logger
}

// Server answers HTTP requests for one replica.
type Server struct {
	*listening
	surface *Surface
}

// New checks the configuration and binds the address, so that a port that is
// taken is known before anything else has started. Run serves and closes it.
func New(config Config) (*Server, error) {
	if _, err := newReadiness(config.Checks); err != nil {
		return nil, err
	}
	l, err := listen(config.Addr, config.Log)
	if err != nil {
		return nil, err
	}
	surface, err := NewSurface(config, l.guard(config))
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	l.http.Handler = surface
	return &Server{listening: l, surface: surface}, nil
}

// Drain has claims of workers answered with 503, those that wait at once: they go to another replica. What else workers send
// is answered until Run ends.
func (s *Server) Drain() { s.surface.Drain() }

// Close gives the address back where Run was never called.
func (s *Server) Close() error {
	s.surface.stop()
	return s.listening.Close()
}

// Run serves until ctx ends; requests under way then have two seconds. It
// returns nil on such a stop and an error if the listener broke.
func (s *Server) Run(ctx context.Context) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var waking sync.WaitGroup
	waking.Go(func() { _ = s.surface.Run(serving) }) // it returns nil
	defer waking.Wait()
	defer stop()
	s.started()
	return s.run(ctx)
}

// listening is an address with what answers there.
type listening struct {
	listener net.Listener
	http     *http.Server
	log      zerolog.Logger
}

func listen(addr string, log zerolog.Logger) (*listening, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	return &listening{listener: listener, log: log, http: &http.Server{
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(log, "", 0),
	}}, nil
}

// Addr is the address the server is bound to.
func (l *listening) Addr() net.Addr { return l.listener.Addr() }

// onLoopback says that nobody beyond this machine can reach it.
func (l *listening) onLoopback() bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// guard judges the requests that come here.
func (l *listening) guard(config Config) *auth.Guard {
	return auth.New(auth.Config{
		Read: config.Token, Operators: config.Operators, Loopback: l.onLoopback(), Deployment: config.Deployment, Path: config.Prefix + "/",
	})
}

// started says that what this process is for is answered here.
func (l *listening) started() {
	l.log.Info().Str("addr", l.Addr().String()).Msg("HTTP server started")
}

// Close gives the address back.
func (l *listening) Close() error {
	if err := l.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close HTTP listener: %w", err)
	}
	return nil
}

// run answers until ctx ends, and for those who are there then two seconds more.
func (l *listening) run(ctx context.Context) error {
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = l.http.Serve(l.listener)
	}()
	select {
	case <-ended:
		return fmt.Errorf("serve HTTP: %w", failure)
	case <-ctx.Done():
	}
	// Shutdown closes only listeners that Serve has taken over already.
	_ = l.Close()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := l.http.Shutdown(grace); err != nil {
		_ = l.http.Close() // cuts off whoever is still there
	}
	<-ended
	return nil
}
