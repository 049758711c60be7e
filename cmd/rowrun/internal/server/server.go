package server

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

// Limits of one request: probes are small and quick, whoever asks.
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
	// Log gets one line when the server starts and what goes wrong in it.
	Log zerolog.Logger
}

// Server answers HTTP requests for one replica.
type Server struct {
	listener net.Listener
	http     *http.Server
	log      zerolog.Logger
}

// New checks the configuration and binds the address, so that a port that is
// taken is known before anything else has started. Run serves and closes it.
func New(config Config) (*Server, error) {
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
	return &Server{
		listener: listener,
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

// Close gives the address back where Run was never called.
func (s *Server) Close() error {
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
	s.log.Info().Str("addr", s.Addr().String()).Msg("HTTP server started")

	select {
	case <-ended:
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

func live(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}
