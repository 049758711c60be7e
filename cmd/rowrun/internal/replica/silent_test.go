package replica

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// wayOf is a way to a server that can go silent: nothing passes then, and nothing is closed.
type wayOf struct {
	url    string
	silent atomic.Bool
}

func newWay(t *testing.T, url string) *wayOf {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wayOf{url: "postgres://" + config.User + "@" + listener.Addr().String() + "/" + config.Database + "?sslmode=disable"}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	keep := func(conn net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, conn)
	}
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			keep(client)
			keep(server)
			all.Go(func() { w.pass(server, client) })
			all.Go(func() { w.pass(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return w
}

// pass hands on what comes, and swallows it once the way is silent.
func (w *wayOf) pass(to io.WriteCloser, from io.Reader) {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if w.silent.Load() {
			n = 0
		}
		if _, bad := to.Write(part[:n]); err != nil || bad != nil {
			if !w.silent.Load() {
				_ = to.Close()
			}
			return
		}
	}
}

// A process that is told to stop is gone 15 s behind its --drain-timeout at the latest, whatever the server does.
func TestAStopIsBoundedWhereTheServerHasGoneSilent(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	way, conn := newWay(t, url), rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('a', 'NOOP')`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const drain = 2 * time.Second
	var log bytes.Buffer
	replica := exec.CommandContext(ctx, os.Args[0], "--http-addr", "off", "--sweep-interval", "100ms", "--drain-timeout", drain.String())
	replica.Env = []string{"HOME=/", "HOSTNAME=test", "DATABASE_URL=" + way.url, serveDeafly + "=on"}
	replica.Stderr = &log
	require.NoError(t, replica.Start())
	is := func(query string) func() bool {
		return func() (so bool) {
			require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&so))
			return so
		}
	}
	rowruntest.Eventually(t, "it writes the stream", is(`SELECT stream_replica_id IS NOT NULL FROM rowrun.deployment`))
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	rowruntest.Eventually(t, "it works", is(`SELECT status = 'DONE' FROM rowrun.task_run`))
	way.silent.Store(true)
	stopped := time.Now()
	require.NoError(t, replica.Process.Signal(syscall.SIGTERM))
	_ = replica.Wait() // whether it says that something was left behind is not the question
	took := time.Since(stopped)
	require.NoError(t, ctx.Err(), log.String())
	require.Less(t, took, drain+15*time.Second, log.String())
	t.Logf("gone %s after the stop", took.Round(100*time.Millisecond))
}
