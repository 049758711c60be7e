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

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
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
