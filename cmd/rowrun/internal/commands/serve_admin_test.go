package commands

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// wire is the way of one replica to its database.
type wire struct {
	mu    sync.Mutex
	dead  bool
	conns map[net.Conn]bool
}

// through gives an address of the database by a network of its own.
func through(t *testing.T, database string) (*wire, string) {
	t.Helper()
	target, err := pgx.ParseConfig(database)
	require.NoError(t, err)
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &wire{conns: map[net.Conn]bool{}}
	kind, address := pgconn.NetworkAddress(target.Host, target.Port)
	var links sync.WaitGroup
	links.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			links.Go(func() { n.link(t, client, kind, address) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		n.die(true)
		links.Wait()
	})
	return n, "postgres://" + target.User + "@" + listener.Addr().String() + "/" + target.Database + "?sslmode=disable"
}

func (n *wire) link(t *testing.T, client net.Conn, kind, address string) {
	t.Helper()
	var dialer net.Dialer
	backend, err := dialer.DialContext(context.WithoutCancel(t.Context()), kind, address) // a replica stops after the test has ended
	if err != nil || !n.add(client, backend) {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{client, backend}, {backend, client}} {
		both.Go(func() {
			_, _ = io.Copy(ends[0], ends[1])
			_ = client.Close()
			_ = backend.Close()
		})
	}
	both.Wait()
}

func (n *wire) add(client, backend net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		_ = backend.Close()
		return false
	}
	n.conns[client], n.conns[backend] = true, true
	return true
}

// die cuts all connections and takes no more; false: it takes them again.
func (n *wire) die(dead bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = dead
	if dead {
		for conn := range n.conns {
			_ = conn.Close()
		}
		clear(n.conns)
	}
}

// The isolated node: the network of the workers dies, the admin notices, settles what they ran, tells the stream and the alerts,
// and claims nothing; the workers come back and go on.
func TestAdminLooksAfterADeploymentWithoutWorkers(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	conn, variables := rowruntest.Connect(t, database), map[string]string{"DATABASE_URL": database}
	way, cut := through(t, database)
	admin := startServing(t, database, "--role", "admin", "--replica-name", "admin", "--app-url", "http://127.0.0.1:9", "--sweep-interval", "500ms",
		"--heartbeat-interval", "1s", "--stale-after", "10s", "--stale-sweep-interval", "300ms", "--drain-timeout", "1s")
	admin.awaitReady(t)
	_, text := admin.status(t, "/status")
	var status struct {
		Role     string
		Replicas []struct{ Role, State string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &status))
	require.Equal(t, "admin", status.Role)
	require.Equal(t, "admin", status.Replicas[0].Role)
	require.Contains(t, admin.metrics(t), `rowrun_scheduler_role{role="admin"} 1`)
	require.Contains(t, admin.metrics(t), "\nrowrun_scheduler_slots 0\n")
	rowruntest.Eventually(t, "the admin writes the stream", func() bool { return admin.writes(t) })
	got := rowrun(t.Context(), t, variables, "status")
	require.Contains(t, got.Stdout, "no replica lives", "an admin is none")
	require.Contains(t, got.Stdout, "ACTIVE, admin")
	free, gated := insertRun(t, conn, "NOOP", `{}`, nil), insertRun(t, conn, "NOOP", `{}`, new("orders"))
	awaitStatus(t, conn, free, "AVAILABLE")
	cause := func() (cause string) {
		_ = conn.QueryRow(t.Context(), "SELECT cause FROM rowrun.waiting($1)", gated).Scan(&cause)
		return cause
	}
	rowruntest.Eventually(t, "no gate counts on the admin", func() bool { return cause() == "NO_REPLICA" })

	startServing(t, cut, "--replica-name", "worker", "--types", "NOOP", "--sweep-interval", "500ms",
		"--heartbeat-interval", "1s", "--stale-after", "3s", "--drain-timeout", "1s")
	awaitStatus(t, conn, free, "DONE")
	awaitStatus(t, conn, gated, "DONE")
	work := insertRun(t, conn, "NOOP", `{"sleep": "1h"}`, nil)
	rowruntest.Change(t, conn, "UPDATE rowrun.task SET on_stale = 'RETRY' WHERE payload ->> 'sleep' = '1h'")
	awaitStatus(t, conn, work, "RUNNING")
	rowruntest.Eventually(t, "a worker lives", func() bool { return strings.Contains(admin.metrics(t), "\nrowrun_store_live_replicas 1\n") })
	rowruntest.Eventually(t, "the check agrees", func() bool {
		code, line := checked(t, database, "--max-oldest-available", "~:", "--max-orphans", "~:")
		t.Log(line)
		return code == cli.PlugInOK
	})

	way.die(true)
	next := func() (id int64, status string) {
		_ = conn.QueryRow(t.Context(), "SELECT id, status FROM rowrun.task_run WHERE retry_of = $1", work).Scan(&id, &status)
		return id, status
	}
	rowruntest.Eventually(t, "the admin settles the run", func() bool {
		_, status := next()
		return status == "AVAILABLE"
	})
	var failed string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT concat(status, result ->> 'code') FROM rowrun.task_run WHERE id = $1", work).Scan(&failed))
	require.Equal(t, "FAILEDSTALE", failed)
	found := regexp.MustCompile(`\nrowrun_scheduler_sweep_found_runs_total{sweep="stale"} [1-9]`)
	rowruntest.Eventually(t, "the sweep counts it behind its commit", func() bool { return found.MatchString(admin.metrics(t)) })
	rowruntest.Eventually(t, "the alert's figure", func() bool {
		text := admin.metrics(t)
		return strings.Contains(text, "\nrowrun_store_live_replicas 0\n") && strings.Contains(text, "\nrowrun_store_live_admins 1\n")
	})
	code, line := checked(t, database)
	require.Equal(t, cli.PlugInCritical, code)
	require.Contains(t, line, "0 live replicas")
	_, waits := next()
	require.Equal(t, "AVAILABLE", waits, "the admin claims nothing")

	way.die(false)
	rowruntest.Eventually(t, "the worker comes back", func() bool {
		_, status := next()
		return status == "RUNNING"
	})
	rowruntest.Eventually(t, "the alert is over", func() bool { return strings.Contains(admin.metrics(t), "\nrowrun_store_live_replicas 1\n") })
}
