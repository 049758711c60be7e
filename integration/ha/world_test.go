//go:build ha && linux

package ha

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// world is one cluster with its sidecars and their load.
type world struct {
	*cluster
	sidecars []*sidecar
	ledger   *ledger
	load     *load
	task     int64
	stray    []int64 // ids that a primary acknowledged while it was cut off
}

// scratch is kept where the test fails and ROWRUN_HA_KEEP is set.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", prefix+"-") //nolint:usetesting // kept, and where the servers' account can go
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		_ = sweep()
		if t.Failed() && os.Getenv("ROWRUN_HA_KEEP") != "" {
			t.Logf("logs: %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := scratch(t)
	nodes := []host{{"n1", "10.77.0.11"}, {"n2", "10.77.0.12"}, {"n3", "10.77.0.13"}}
	beside := []host{{"s1", "10.77.0.21"}, {"s2", "10.77.0.22"}, {"s3", "10.77.0.23"}}
	makeNetwork(t, append(slices.Clone(nodes), beside...)...)
	binary := os.Getenv("ROWRUN_BINARY")
	if binary == "" {
		binary = filepath.Join(dir, "rowrun")
		build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "github.com/rowrun/rowrun/cmd/rowrun")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	w := &world{cluster: newCluster(t, dir, nodes), ledger: &ledger{}}
	leader := w.prepare(t)
	w.rowrun(t, leader, binary, "migrate", "up")
	conn := w.connect(t, leader, hub, leader.addr)
	_, err := conn.Exec(t.Context(), "CREATE ROLE sidecar LOGIN REPLICATION IN ROLE rowrun_replica")
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.task (name, type, payload, on_stale, max_attempts, retry_delay)
		VALUES ('call', 'HTTP', '{"path": "/"}', 'RETRY', 5, '1s') RETURNING id`).Scan(&w.task))
	for i, h := range beside {
		w.sidecars = append(w.sidecars, newSidecar(t, dir, binary, h, w.cluster, i, w.ledger))
	}
	eventually(t, patience, "a writer of the stream with its slot", func() bool {
		return slices.ContainsFunc(w.sidecars, func(s *sidecar) bool { return s.said(t, "made the stream's replication slot") > 0 })
	})
	writer, err := pgx.ParseConfig(w.url("postgres", 0))
	require.NoError(t, err)
	writer.DialFunc = dialer(hub)
	w.load = newLoad(t, writer, w.task)
	return w
}

// url names every node, beginning with one of them: whichever takes writes is the one.
func (c *cluster) url(user string, first int) string {
	var hosts []string
	for _, n := range c.from(first) {
		hosts = append(hosts, n.addr+":5432")
	}
	return "postgres://" + user + "@" + strings.Join(hosts, ",") + "/app?sslmode=disable&connect_timeout=1&target_session_attrs=read-write"
}

// from are all nodes, in the order of a list that begins with one of them.
func (c *cluster) from(first int) []host {
	return append(slices.Clone(c.nodes[first:]), c.nodes[:first]...)
}

// prepare makes the database, once there is a primary.
func (w *world) prepare(t *testing.T) (leader host) {
	t.Helper()
	eventually(t, patience, "a leader", func() bool {
		for _, m := range w.members(t.Context()) {
			if m.Role == "leader" && m.State == "running" {
				leader = w.node(m.Name)
			}
		}
		return leader.name != ""
	})
	out, err := exec.CommandContext(t.Context(), "ip", append([]string{"netns", "exec", leader.netns()}, w.as(filepath.Join(w.bin, "psql"), "-X", "-q",
		"-h", "127.0.0.1", "-d", "postgres", "-c", "CREATE DATABASE app")...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return w.healthy(t, true)
}

func (w *world) rowrun(t *testing.T, n host, binary string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ip", append([]string{"netns", "exec", n.netns(), binary}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "DATABASE_URL=" + w.url("postgres", 0)}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "rowrun %v: %s", args, out)
}

// mode has commits wait for a standby, or not.
func (w *world) mode(t *testing.T, synchronous bool) {
	t.Helper()
	w.patronictl(t, w.nodes[0], "edit-config", "rowrun", "--set", fmt.Sprintf("synchronous_mode=%t", synchronous), "--force")
}
