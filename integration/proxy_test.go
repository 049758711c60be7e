package integration_test

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// listenName is the application_name of a replica's listening connection.
const listenName = "rowrun listen"

// proxy stands between replicas and the server, and does what networks and poolers do: it lets connections fall
// silent, keeps notifications back, and loses the answer to what the server has done.
type proxy struct {
	url  string // leads through it
	plan *plan  // nil: no answer is lost

	withhold atomic.Pointer[string] // keep notifications back from sessions of this name; "*": from all
	withheld atomic.Int64           // how many

	dial  func(context.Context) (net.Conn, error)
	mu    sync.Mutex
	links map[*link]bool
	wg    sync.WaitGroup
}

// newProxy starts one before the server that url leads to.
func newProxy(t *testing.T, url string, lose *plan) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{plan: lose, links: map[*link]bool{}}
	p.url = "postgres://" + config.User + "@" + listener.Addr().String() + "/" + config.Database + "?sslmode=disable"
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	p.dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) }
	p.wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		for _, l := range p.named("*") {
			l.close()
		}
		p.wg.Wait()
	})
	return p
}

// named are the open connections of this application_name; "*": all.
func (p *proxy) named(name string) []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*link
	for l := range p.links {
		if name == "*" || l.name() == name {
			found = append(found, l)
		}
	}
	return found
}

func (p *proxy) serve(client net.Conn) {
	server, err := p.dial(context.Background())
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{proxy: p, client: client, server: server, statements: map[string]string{}}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.requests(bufio.NewReaderSize(client, 64<<10)) })
	l.answers(bufio.NewReaderSize(server, 64<<10))
	both.Wait()
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}
