package chaos_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/integration/wire"
)

// network stands between one replica and the server.
type network struct {
	url  string
	dial func(context.Context) (net.Conn, error)

	up, down atomic.Bool  // silent in this direction: every byte is swallowed, nothing is closed
	keeps    atomic.Bool  // what a replica says into that silence comes late: when it heals
	delay    atomic.Int64 // of each message, both ways, in nanoseconds
	swallow  atomic.Bool  // cut the connection in place of the next answer to a COMMIT
	// swallowAny does so to the next answer of any kind; lose to one COMMIT of three, itself.
	swallowAny, lose atomic.Bool
	commits          atomic.Int64 // seen while it loses some
	took             atomic.Int64 // how many messages a fault was done to

	mu    sync.Mutex
	links map[*tube]bool
	wg    sync.WaitGroup
}

// tube is one connection. One that was silenced stays so: what it has lost would otherwise be missed.
type tube struct {
	client, server net.Conn
	up, down       atomic.Bool
	late           atomic.Bool // the server reads what was kept; nobody is there any more to whom it answers

	mu   sync.Mutex
	kept []byte
}

// deliver hands the server what a client said into a silence, long after it has gone.
func (l *tube) deliver() {
	l.late.Store(true)
	l.down.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.server.Write(l.kept)
	if half, ok := l.server.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = l.client.Close()
}

func (l *tube) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

func newNetwork(t *testing.T, url string) *network {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &network{links: map[*tube]bool{}}
	n.url = "postgres://" + config.User + "@" + listener.Addr().String() + "/" + config.Database + "?sslmode=disable"
	kind, address := pgconn.NetworkAddress(config.Host, config.Port)
	n.dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, kind, address) }
	n.wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			n.wg.Go(func() { n.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		n.reset()
		n.wg.Wait()
	})
	return n
}

// reset cuts every connection; how many there were.
func (n *network) reset() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.links {
		l.close()
	}
	return len(n.links)
}

// silence begins a partition in these directions; heal ends it, and cuts what has lost something.
func (n *network) silence(up, down bool) {
	n.up.Store(up)
	n.down.Store(down)
}

// keep begins a partition of requests, which come to the server when it heals: packets that waited in a queue on the way.
func (n *network) keep() {
	n.keeps.Store(true)
	n.silence(true, false)
}

func (n *network) heal() {
	n.silence(false, false)
	n.delay.Store(0)
	n.swallow.Store(false)
	n.swallowAny.Store(false)
	n.lose.Store(false)
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := n.keeps.Swap(false)
	for l := range n.links {
		switch {
		case kept && l.up.Load():
			l.deliver()
		case l.up.Load() || l.down.Load():
			l.close()
		}
	}
}

func (n *network) serve(client net.Conn) {
	server, err := n.dial(context.Background())
	if err != nil {
		_ = client.Close()
		return
	}
	l := &tube{client: client, server: server}
	n.mu.Lock()
	n.links[l] = true
	n.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { n.forward(l, client, server, true) })
	both.Go(func() { n.forward(l, server, client, false) })
	both.Wait()
	n.mu.Lock()
	delete(n.links, l)
	n.mu.Unlock()
}

// forward hands on what one side says. Where the other direction has fallen silent, nobody hears of an end either.
func (n *network) forward(l *tube, from, to net.Conn, up bool) {
	mine, silent := &l.down, &n.down
	if up {
		mine, silent = &l.up, &n.up
	}
	reader := bufio.NewReaderSize(from, 32<<10)
	for first := up; ; first = false {
		message, err := wire.ReadMessage(reader, first)
		if err != nil {
			if !silent.Load() && (!up || !l.late.Load()) {
				l.close()
			}
			return
		}
		if silent.Load() {
			mine.Store(true)
		}
		if mine.Load() {
			n.took.Add(1)
			// A connection that was begun in the silence says nothing in time, nor does the request to cancel that comes by such a one.
			if up && !first && n.keeps.Load() {
				l.mu.Lock()
				l.kept = append(l.kept, message...)
				l.mu.Unlock()
			}
			continue
		}
		if d := time.Duration(n.delay.Load()); d > 0 {
			n.took.Add(1)
			time.Sleep(d) //nolint:forbidigo // this is the fault
		}
		if up && n.loses(message) || !up && n.swallows(message) {
			n.took.Add(1)
			l.close()
			return
		}
		if _, err := to.Write(message); err != nil {
			l.close()
			return
		}
	}
}

func (n *network) swallows(message []byte) bool {
	return message[0] == 'C' && (n.swallowAny.CompareAndSwap(true, false) ||
		bytes.HasPrefix(message[5:], []byte("COMMIT")) && n.swallow.CompareAndSwap(true, false))
}

func (n *network) loses(message []byte) bool {
	return n.lose.Load() && message[0] == 'P' && bytes.HasPrefix(message[5:], []byte("\x00COMMIT\x00")) && n.commits.Add(1)%3 == 0
}
