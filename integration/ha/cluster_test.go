//go:build ha && linux

package ha

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	_ "embed"
)

const (
	account  = "postgres" // whose processes Patroni's and PostgreSQL's are
	patience = 2 * time.Minute
)

//go:embed testdata/patroni.yml
var patroniConfig string

// cluster is three nodes, each with a member of etcd, Patroni and its PostgreSQL.
type cluster struct {
	dir   string
	bin   string // of PostgreSQL
	nodes []host
}

// pgBin is where the newest server stands that has what Patroni calls.
func pgBin(t *testing.T) string {
	t.Helper()
	best, major := "", 0
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	require.NoError(t, err)
	for _, dir := range dirs {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if _, missing := os.Stat(filepath.Join(dir, "pg_rewind")); err == nil && missing == nil && n > major {
			best, major = dir, n
		}
	}
	require.NotEmpty(t, best, "a server with pg_basebackup and pg_rewind")
	return best
}

func newCluster(t *testing.T, dir string, nodes []host) *cluster {
	t.Helper()
	c := &cluster{dir: dir, bin: pgBin(t), nodes: nodes}
	var members, clients []string
	for _, n := range nodes {
		members = append(members, n.name+"=http://"+n.addr+":2380")
		clients = append(clients, n.addr+":2379")
	}
	shape := template.Must(template.New("patroni").Parse(patroniConfig))
	for _, n := range nodes {
		home := filepath.Join(dir, n.name)
		require.NoError(t, os.MkdirAll(home, 0o755))
		file, err := os.Create(filepath.Join(home, "patroni.yml"))
		require.NoError(t, err)
		require.NoError(t, shape.Execute(file, map[string]string{
			"Name": n.name, "Addr": n.addr, "Etcd": strings.Join(clients, ","), "Data": filepath.Join(home, "data"), "Bin": c.bin, "Home": home,
		}))
		require.NoError(t, file.Close())
		out, err := exec.CommandContext(t.Context(), "chown", "-R", account+":", home).CombinedOutput()
		require.NoError(t, err, "%s", out)
		start(t, n.netns(), filepath.Join(dir, n.name+"-etcd.log"), nil, c.as("etcd", "--name", n.name, "--data-dir", filepath.Join(home, "etcd"),
			"--listen-peer-urls", "http://"+n.addr+":2380", "--initial-advertise-peer-urls", "http://"+n.addr+":2380",
			"--listen-client-urls", "http://"+n.addr+":2379", "--advertise-client-urls", "http://"+n.addr+":2379",
			"--initial-cluster", strings.Join(members, ","), "--initial-cluster-state", "new",
			"--heartbeat-interval", "200", "--election-timeout", "2000", "--pre-vote", "--enable-v2")...)
	}
	for _, n := range nodes {
		c.run(t, n)
	}
	return c
}

func (c *cluster) as(command ...string) []string {
	return append([]string{"setpriv", "--reuid", account, "--regid", account, "--init-groups", "--"}, command...)
}

// run starts Patroni, which brings its PostgreSQL along.
func (c *cluster) run(t *testing.T, n host) {
	t.Helper()
	start(t, n.netns(), filepath.Join(c.dir, n.name+"-patroni.log"), nil, c.as("patroni", filepath.Join(c.dir, n.name, "patroni.yml"))...)
}

// crash kills Patroni and every process of its PostgreSQL at once, and proves that they are gone; etcd stays.
func (c *cluster) crash(t *testing.T, n host) {
	t.Helper()
	victims := func() []int { return append(processes(n, "patroni"), processes(n, "postgres")...) }
	require.Greater(t, len(victims()), 3, "the fault: there is something to kill")
	eventually(t, 10*time.Second, "the fault: every process of the node is gone", func() bool {
		left := victims()
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(left) == 0
	})
}

// processes of a node are found by the beginning of their name.
func processes(n host, program string) (found []int) {
	for _, pid := range pids(n.netns()) {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.HasPrefix(string(comm), program) {
			found = append(found, pid)
		}
	}
	return found
}

// freeze stops Patroni, and proves it; its PostgreSQL goes on.
func (c *cluster) freeze(t *testing.T, n host) {
	t.Helper()
	all := processes(n, "patroni")
	require.NotEmpty(t, all, "the fault: there is something to stop")
	for _, pid := range all {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	eventually(t, 10*time.Second, "the fault: Patroni stands still", func() bool {
		var response any
		return c.get(t.Context(), n, "/patroni", &response) != nil
	})
}

// member is what Patroni says of a node.
type member struct {
	Name, Role, State string
	Timeline          int
}

// members is what all nodes agree on, nil where they don't: one that was cut off goes on telling what it last knew.
func (c *cluster) members(ctx context.Context) (agreed []member) {
	for i, n := range c.nodes {
		var answer struct{ Members []member }
		if c.get(ctx, n, "/cluster", &answer) != nil || i > 0 && !slices.Equal(agreed, answer.Members) {
			return nil
		}
		agreed = answer.Members
	}
	return agreed
}

func (c *cluster) get(ctx context.Context, n host, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: dialer(hub), DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr+":8008"+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return json.NewDecoder(response.Body).Decode(into)
}

// healthy waits until one node leads and all others follow it, one of them synchronously if asked for.
func (c *cluster) healthy(t *testing.T, synchronous bool) (leader host) {
	t.Helper()
	var said []member
	defer func() {
		if t.Failed() {
			t.Logf("members: %+v", said)
		}
	}()
	eventually(t, patience, "a healthy cluster", func() bool {
		said = c.members(t.Context())
		if said == nil {
			return false
		}
		leaders, following, sync, timeline := 0, 0, 0, 0
		for _, m := range said {
			if m.Role == "leader" {
				leaders++
				leader, timeline = c.node(m.Name), m.Timeline
			}
		}
		for _, m := range said {
			if m.Role != "leader" && (m.State == "running" || m.State == "streaming") && m.Timeline == timeline {
				following++
			}
			if m.Role == "sync_standby" {
				sync++
			}
		}
		return leaders == 1 && following == len(c.nodes)-1 && (sync > 0) == synchronous
	})
	if !synchronous {
		return leader
	}
	// Patroni names the standby before the primary has read its configuration anew.
	conn := c.connect(t, leader, hub, leader.addr)
	eventually(t, patience, "a primary that waits for its synchronous standby", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming'").Scan(&n)
		return err == nil && n > 0
	})
	return leader
}

func (c *cluster) node(name string) host {
	for _, n := range c.nodes {
		if n.name == name {
			return n
		}
	}
	return host{}
}

// config is how to connect to one node as the superuser, from a namespace.
func config(netns, addr string) *pgx.ConnConfig {
	config, err := pgx.ParseConfig("postgres://postgres@" + addr + ":5432/app?sslmode=disable&connect_timeout=2")
	if err != nil {
		panic(err)
	}
	config.DialFunc = dialer(netns)
	return config
}

func (c *cluster) connect(t *testing.T, n host, netns, addr string) *pgx.Conn {
	t.Helper()
	var conn *pgx.Conn
	eventually(t, patience, "a connection to "+n.name, func() (ok bool) {
		var err error
		conn, err = pgx.ConnectConfig(t.Context(), config(netns, addr))
		return err == nil
	})
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

var errNobody = errors.New("no node is a primary")

// primary tells which node takes writes, as the hub sees it.
func (c *cluster) primary(ctx context.Context, but string) (host, int, error) {
	for _, n := range c.nodes {
		if n.name == but {
			continue
		}
		standby, timeline, err := c.state(ctx, hub, n.addr)
		if err == nil && !standby {
			return n, timeline, nil
		}
	}
	return host{}, 0, errNobody
}

// state asks a server whether it is a standby, and for its timeline where it isn't.
func (c *cluster) state(ctx context.Context, netns, addr string) (standby bool, timeline int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config(netns, addr))
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	err = conn.QueryRow(ctx, `SELECT pg_is_in_recovery(), CASE WHEN pg_is_in_recovery() THEN 0
		ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END`).Scan(&standby, &timeline)
	return standby, timeline, err
}

// promoted waits for another primary than the old one, and returns the moment in which it was seen.
func (c *cluster) promoted(t *testing.T, old host) (n host, timeline int, at time.Time) {
	t.Helper()
	eventually(t, patience, "another primary", func() bool {
		var err error
		n, timeline, err = c.primary(t.Context(), old.name)
		at = time.Now()
		return err == nil
	})
	return n, timeline, at
}

// patronictl runs Debian's tool beside a node.
func (c *cluster) patronictl(t *testing.T, n host, args ...string) string {
	t.Helper()
	all := append([]string{"netns", "exec", n.netns(), "patronictl", "-c", filepath.Join(c.dir, n.name, "patroni.yml")}, args...)
	cmd := exec.CommandContext(t.Context(), "ip", all...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "LANG=C.UTF-8")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "patronictl %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// eventually polls until ok, and fails the test after within.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			require.FailNow(t, "not in time", "%s, within %s", what, within)
		}
		<-tick.C
	}
}
