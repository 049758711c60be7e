// Package servertest serves over HTTP in tests.
package servertest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
)

// Anywhere is a free port on loopback.
const Anywhere = "127.0.0.1:0"

// Served is a Surface behind a Front.
type Served struct {
	*server.Surface
	// URL is where it is served, without a path.
	URL string
	// Stop ends it; it may be called again.
	Stop func()
}

// Serve serves what the configuration says on a free port, at most for the test's length.
func Serve(t *testing.T, config server.Config) *Served {
	t.Helper()
	return ServeAt(t, Anywhere, config)
}

// ServeAt is Serve on an address of this machine.
func ServeAt(t *testing.T, addr string, config server.Config) *Served {
	t.Helper()
	front, err := NewFront(addr)
	require.NoError(t, err)
	config.Log = zerolog.Nop()
	surface, err := server.NewSurface(config, front.Guard(config))
	require.NoError(t, err)
	front.Serve(surface)
	ctx, cancel := context.WithCancel(context.Background())
	var running errgroup.Group
	running.Go(func() error { return surface.Run(ctx) })
	running.Go(func() error { return front.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		require.NoError(t, running.Wait())
	})
	t.Cleanup(stop)
	_, port, err := net.SplitHostPort(front.Addr().String())
	require.NoError(t, err)
	return &Served{Surface: surface, URL: "http://127.0.0.1:" + port, Stop: stop}
}

// NewFront binds an address behind which nothing is served yet.
func NewFront(addr string) (*server.Front, error) {
	return server.NewFront(server.FrontConfig{Addr: addr, Log: zerolog.Nop(), Away: func(context.Context) error { return nil }})
}
