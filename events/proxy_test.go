package events_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// proxy stands between a client and the server and does what networks and
// poolers do. It speaks the protocol only as far as it needs the messages' borders.
type proxy struct {
	address  string
	upstream func(context.Context) (net.Conn, error)

	hole          atomic.Bool  // swallow every byte, both ways, and close nothing
	fromClient    atomic.Int64 // bytes swallowed
	fromServer    atomic.Int64
	withholds     atomic.Bool  // keep back notifications, as a transaction pooler does
	notifications atomic.Int64 // kept back

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

// through starts a proxy and returns it with a configuration that leads through it.
func through(t *testing.T, config *pgx.ConnConfig, withholds bool) (*proxy, *pgx.ConnConfig) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config = config.Copy()
	p := &proxy{address: listener.Addr().String()}
	p.withholds.Store(withholds)
	direct, host, port := config.DialFunc, config.Host, config.Port
	p.upstream = func(ctx context.Context) (net.Conn, error) {
		network, address := pgconn.NetworkAddress(host, port)
		return direct(ctx, network, address)
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	}
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
		p.cut()
		p.wg.Wait()
	})
	return p, config
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *proxy) serve(client net.Conn) {
	p.track(client)
	defer func() { _ = client.Close() }()
	server, err := p.upstream(context.Background())
	if err != nil {
		return
	}
	p.track(server)
	defer func() { _ = server.Close() }()
	var wg sync.WaitGroup
	wg.Go(func() { p.pipe(server, client, &p.fromClient, false) })
	p.pipe(client, server, &p.fromServer, true)
	wg.Wait()
}

func (p *proxy) track(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
}

// pipe forwards until either side closes, then closes both: unless bytes were
// swallowed, for then neither side may notice anything.
func (p *proxy) pipe(to, from net.Conn, swallowed *atomic.Int64, messages bool) {
	defer func() {
		if !p.hole.Load() {
			_ = to.Close()
			_ = from.Close()
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := p.read(from, buf, messages)
		if err != nil {
			return
		}
		if messages && buf[0] == 'A' && p.withholds.Load() { // NotificationResponse
			p.notifications.Add(1)
			continue
		}
		if p.hole.Load() {
			swallowed.Add(int64(n))
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// read reads some bytes, or one message: a type byte, a length that counts
// itself, the rest.
func (p *proxy) read(from net.Conn, buf []byte, message bool) (int, error) {
	if !message {
		return from.Read(buf)
	}
	if _, err := io.ReadFull(from, buf[:5]); err != nil {
		return 0, err
	}
	length := 1 + int(binary.BigEndian.Uint32(buf[1:5]))
	if length > len(buf) {
		return 0, io.ErrShortBuffer
	}
	_, err := io.ReadFull(from, buf[5:length])
	return length, err
}
