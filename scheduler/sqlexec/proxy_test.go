package sqlexec_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// proxy stands between an executor and the server, and cuts the first connection
// on which the client sends a given text, or all when it is told to.
type proxy struct {
	// text is what to cut at, "" for nothing; before: it does not reach the server;
	// otherwise the server's answer does not reach the client.
	text   string
	before bool
	// afterwards is called once after the cut; may be nil.
	afterwards func()
	// closed: no new connections after the cut.
	closed bool

	url      string
	upstream string
	listener net.Listener
	taken    atomic.Bool   // a connection was chosen for the fault
	cut      chan struct{} // closed once the fault took hold
	running  sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

// start listens on a socket of its own and stops with the test.
func (p *proxy) start(t testing.TB, target string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(target)
	require.NoError(t, err)
	_, p.upstream = pgconn.NetworkAddress(config.Host, config.Port)
	dir, err := os.MkdirTemp("", "rr") //nolint:usetesting // its paths are too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	p.cut = make(chan struct{})
	p.url = (&url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Path: "/" + config.Database, RawQuery: url.Values{
		"host": {dir}, "port": {"5432"}, "sslmode": {"disable"},
	}.Encode()}).String()
	ctx := t.Context()
	p.running.Go(func() { p.accept(ctx) })
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.running.Wait()
	})
	return p
}

func (p *proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(ctx, "unix", p.upstream)
		if err != nil {
			_ = client.Close()
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.running.Go(func() { p.pass(client, server) })
	}
}

// pass copies both ways until one side closes or the fault comes.
func (p *proxy) pass(client, server net.Conn) {
	var (
		both     sync.WaitGroup
		swallow  = make(chan struct{})
		closeAll = func() { _ = client.Close(); _ = server.Close() }
	)
	both.Go(func() {
		defer closeAll()
		buffer := make([]byte, 64<<10)
		for {
			n, err := client.Read(buffer)
			if p.text != "" && bytes.Contains(buffer[:n], []byte(p.text)) && p.taken.CompareAndSwap(false, true) {
				if p.before {
					p.fault()
					return
				}
				close(swallow)
			}
			if n > 0 {
				if _, err := server.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	both.Go(func() {
		defer closeAll()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			select {
			case <-swallow:
				if n > 0 {
					p.fault()
				}
				return
			default:
			}
			if n > 0 {
				if _, err := client.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	both.Wait()
}

func (p *proxy) fault() {
	if p.closed {
		_ = p.listener.Close()
	}
	if p.afterwards != nil {
		p.afterwards()
	}
	close(p.cut)
}

// kill cuts every connection now, while nothing is under way on them.
func (p *proxy) kill(t testing.TB) {
	t.Helper()
	if p.closed {
		_ = p.listener.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotEmpty(t, p.conns, "the proxy has nothing to cut")
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

// tookHold fails the test unless the connection was cut.
func (p *proxy) tookHold(t testing.TB) {
	t.Helper()
	select {
	case <-p.cut:
	default:
		require.FailNow(t, "the proxy has cut nothing")
	}
}
