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
	// Addr is the host:port to listen on. Required; port 0 takes a free one.
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
	listener net.Listener
	http     *http.Server
	stop     context.CancelFunc // ends the readers of /events
	drain    context.CancelFunc // ends the claims of workers
	log      zerolog.Logger
	hall     *hall
	wake     <-chan struct{}
	stopped  context.Context
}

// New checks the configuration and binds the address, so that a port that is
// taken is known before anything else has started. Run serves and closes it.
func New(config Config) (*Server, error) {
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
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", config.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", live)
	mux.Handle("GET /readyz", ready)
	stopped, stop := context.WithCancel(context.Background())
	guard := auth.New(auth.Config{
		Read: config.Token, Operators: config.Operators, Loopback: onLoopback(listener.Addr()), Deployment: config.Deployment, Path: config.Prefix + "/",
	})
	if config.Metrics != nil {
		mux.Handle("GET /metrics", config.Metrics)
	}
	guarded := func(pattern string, handler http.Handler) {
		mux.Handle("GET "+pattern, guard.Protect(handler))
		if config.Prefix != "" {
			mux.Handle("GET "+config.Prefix+pattern, guard.Protect(handler))
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
		mux.Handle(config.Prefix+"/", http.StripPrefix(config.Prefix, config.Dashboard(guard)))
	}
	draining, drain := context.WithCancel(stopped)
	hall := newHall()
	if config.Workers != nil {
		(&workers{
			store: config.Workers, hall: hall, draining: draining, slots: make(chan struct{}, max(1, config.WorkerSlots)),
			log: config.Log,
		}).register(mux, config.WorkerToken)
	}
	return &Server{
		listener: listener,
		stop:     stop,
		drain:    drain,
		hall:     hall,
		wake:     config.WorkerWake,
		stopped:  stopped,
		log:      config.Log,
		http: &http.Server{
			Handler:           mux,
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          stdlog.New(config.Log, "", 0),
		},
	}, nil
}

// Addr is the address the server is bound to.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Drain has claims of workers answered with 503, those that wait at once: they go to another replica. What else workers send
// is answered until Run ends.
func (s *Server) Drain() { s.drain() }

// Close gives the address back where Run was never called.
func (s *Server) Close() error {
	s.stop()
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close HTTP listener: %w", err)
	}
	return nil
}

// Run serves until ctx ends; requests under way then have two seconds. It
// returns nil on such a stop and an error if the listener broke.
func (s *Server) Run(ctx context.Context) error {
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = s.http.Serve(s.listener)
	}()
	var waking sync.WaitGroup
	waking.Go(func() { s.hall.run(s.stopped, s.wake) })
	defer waking.Wait()
	s.log.Info().Str("addr", s.Addr().String()).Msg("HTTP server started")

	select {
	case <-ended:
		s.stop()
		return fmt.Errorf("serve HTTP: %w", failure)
	case <-ctx.Done():
	}
	// Shutdown closes only listeners that Serve has taken over already.
	_ = s.Close()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(grace); err != nil {
		_ = s.http.Close() // cuts off whoever is still there
	}
	<-ended
	return nil
}

// onLoopback says that nobody beyond this machine can reach an address.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func live(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}
