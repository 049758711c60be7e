package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// counter is an app that knows how many calls it has at once. /hold is answered when the test says so.
type counter struct {
	url     string
	release func()

	mu        sync.Mutex
	now, most int
	holds     int
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	held := make(chan struct{})
	c := &counter{release: sync.OnceFunc(func() { close(held) })}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.add(1, r.URL.Path)
		defer c.add(-1, r.URL.Path)
		wait := time.After(20 * time.Millisecond)
		if r.URL.Path == "/hold" {
			wait = nil
		}
		select {
		case <-wait:
		case <-held:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		c.release()
		server.CloseClientConnections()
		server.Close()
	})
	c.url = server.URL
	return c
}

func (c *counter) add(n int, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
	if path == "/hold" {
		c.holds += n
	}
}

// seen is how many calls there were at once, at most, and how many are held.
func (c *counter) seen() (most, holds int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most, c.holds
}

// sharded is a process that serves shards, and writes its stream into a file.
type sharded struct {
	*replica
	base   string
	stream string
}

func serveShards(t *testing.T, args ...string) *sharded {
	t.Helper()
	s := &sharded{stream: filepath.Join(t.TempDir(), "stream")}
	out, err := os.Create(s.stream)
	require.NoError(t, err)
	defer func() { _ = out.Close() }()
	cmd := exec.Command(program.path, append([]string{"serve", "--http-addr", "127.0.0.1:0"}, args...)...) //nolint:noctx // killed by cleanup
	cmd.Env, cmd.Stdout = environment(), out
	s.replica = spawn(t, cmd)
	s.base = "http://" + s.log.await(t, 1, "HTTP server started").Addr
	return s
}

// get asks the process.
func (s *sharded) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// awaitBegin waits until the stream of a shard tells of runs; to be called before there are others. A shard that is ready claims before that.
func (s *sharded) awaitBegin(t *testing.T, shard string, d *database) {
	t.Helper()
	task := d.task(t, "NOOP", "{}", nil)
	stream(s.stream).awaitBegin(t, func() { d.await(t, d.run(t, task), "DONE") }, func(l line) bool { return l.Shard == shard && l.To == "DONE" })
}

// ended are how many runs of type HTTP the stream has said DONE of, by shard; each of its lines must have a shard.
func (s *sharded) ended(t *testing.T) map[string]int {
	t.Helper()
	file, err := os.Open(s.stream)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	done := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct{ Shard, Type, To string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
		require.Contains(t, []string{"left", "right"}, line.Shard, lines.Text())
		if line.Type == "HTTP" && line.To == "DONE" {
			done[line.Shard]++
		}
	}
	return done
}

func unfinished(t *testing.T, d *database) bool {
	t.Helper()
	return ask[bool](t, d, "SELECT EXISTS (SELECT FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING'))")
}

// Both shards have work for more than all slots; the one that comes later is not kept out by the one that has them.
func TestShardsShareTheSlotsOfOneProcess(t *testing.T) {
	t.Parallel()
	const runs, slots = 150, 4
	left, right, app := newDatabase(t), newDatabase(t), newCounter(t)
	s := serveShards(t, "--shard", "left="+left.url, "--shard", "right="+right.url, "--concurrency", "4", "--app-url", app.url)
	started := s.log.await(t, 2, logStarted)
	require.Contains(t, started.text, `"shard":`)
	eventually(t, patience, "both are ready", func() bool {
		code, _ := s.get(t, "/readyz")
		return code == http.StatusOK
	})
	s.awaitBegin(t, "left", left)
	s.awaitBegin(t, "right", right)

	insert := func(d *database) {
		task := d.task(t, "HTTP", `{"path": "/busy"}`, nil)
		d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2)", task, runs)
	}
	insert(left)
	eventually(t, patience, "left has all slots", func() bool {
		most, _ := app.seen()
		return most == slots
	})
	insert(right)
	eventually(t, patience, "all runs ended", func() bool { return !unfinished(t, left) && !unfinished(t, right) })
	most, _ := app.seen()
	require.Equal(t, slots, most, "calls at once, over both shards")
	for _, d := range []*database{left, right} {
		require.Equal(t, int64(runs), ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE type = 'HTTP' AND status = 'DONE'"))
	}
	first := ask[time.Time](t, right, "SELECT min(started_at) FROM rowrun.task_run WHERE type = 'HTTP'")
	before := ask[int64](t, left, "SELECT count(*) FROM rowrun.task_run WHERE type = 'HTTP' AND started_at < $1", first)
	last := ask[time.Time](t, right, "SELECT max(started_at) FROM rowrun.task_run WHERE type = 'HTTP'")
	beside := ask[int64](t, left, "SELECT count(*) FROM rowrun.task_run WHERE type = 'HTTP' AND started_at BETWEEN $1 AND $2", first, last)
	t.Logf("left had started %d runs when right started its first, and %d beside all of right's", before, beside)
	require.Less(t, before, int64(runs-20), "right was not kept out")
	eventually(t, patience, "the stream of both", func() bool {
		done := s.ended(t)
		return done["left"] == runs && done["right"] == runs
	})

	for path, want := range map[string]string{
		"/": `<a href="shards/left/">left</a>`, "/api/v1/shards": `{"name":"right","path":"shards/right/","ready":true}`, "/readyz": `"right/heartbeat":{"ok":true}`,
		"/shards/left/": "<title>Rowrun</title>", "/shards/right/api/v1/runs": `"items":`, "/shards/left/status": `"status":"running"`, "/livez": "ok",
		"/shards/right/api/v1/session": `"shard":"right"`,
	} {
		code, body := s.get(t, path)
		require.Equal(t, http.StatusOK, code, path)
		require.Contains(t, body, want, path)
	}
	code, text := s.get(t, "/metrics")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "rowrun_pool_slots 4\n")
	require.Contains(t, text, `rowrun_shard_up{shard="left"} 1`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "rowrun_") && !strings.HasPrefix(line, "rowrun_pool_") {
			require.Contains(t, line, `shard="`)
		}
	}

	var held []int64
	for _, d := range []*database{left, right} {
		held = append(held, d.job(t, "HTTP", `{"path": "/hold"}`, nil))
	}
	eventually(t, patience, "a call of each shard", func() bool {
		_, holds := app.seen()
		return holds == 2
	})
	s.signal(t, syscall.SIGTERM)
	s.log.await(t, 2, "drain started")
	app.release()
	require.Zero(t, s.wait(t))
	require.Equal(t, "DONE", left.look(t, held[0]).Status)
	require.Equal(t, "DONE", right.look(t, held[1]).Status)
	require.Equal(t, map[string]int{"left": runs + 1, "right": runs + 1}, s.ended(t))
}

// A database that isn't there when the process starts, or goes away, holds up its own shard.
func TestShardWhoseDatabaseIsAwayHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	left, right, app := openDatabase(t, storetest.On(t, cluster)), newDatabase(t), newCounter(t)
	halt := func() {
		postmaster := cluster.PID()
		require.NoError(t, cluster.Halt(t.Context()))
		require.ErrorIs(t, syscall.Kill(postmaster, 0), syscall.ESRCH, "the fault: no postmaster")
		down(t, left.url)
	}
	restart := func() {
		require.NoError(t, cluster.Restart(t.Context()))
		left.pool.Reset()
	}
	halt()
	s := serveShards(t, "--shard", "left="+left.url, "--shard", "right="+right.url, "--concurrency", "2", "--app-url", app.url,
		"--heartbeat-interval", "1s", "--stale-after", "6s")
	require.Contains(t, s.log.await(t, 1, logWaiting).text, `"shard":"left"`)
	require.Contains(t, s.log.await(t, 1, logStarted).text, `"shard":"right"`)
	right.await(t, right.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
	code, body := s.get(t, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, `"left/start":{"ok":false,"error":`)
	require.Contains(t, body, `"right/database":{"ok":true}`)
	code, _ = s.get(t, "/shards/left/")
	require.Equal(t, http.StatusServiceUnavailable, code)

	restart()
	left.await(t, left.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
	halt()
	eventually(t, patience, "the outage is told", func() bool {
		code, body := s.get(t, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, `"left/database":{"ok":false`)
	})
	for range 20 {
		right.await(t, right.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
	}
	_, body = s.get(t, "/")
	require.Contains(t, body, "not ready<br>database:")
	require.Contains(t, s.log.await(t, 1, logFenced).text, `"shard":"left"`)
	right.await(t, right.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
	restart()
	left.await(t, left.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
	eventually(t, patience, "both are ready again", func() bool {
		code, _ := s.get(t, "/readyz")
		return code == http.StatusOK
	})
	require.Len(t, s.log.find("HTTP server started"), 1, "it is one process all the time")
}

// Admins of several databases have no slots to share.
func TestAdminServesShards(t *testing.T) {
	t.Parallel()
	left, right := newDatabase(t), newDatabase(t)
	s := serveShards(t, "--shard", "left="+left.url, "--shard", "right="+right.url, "--role", "admin")
	eventually(t, patience, "both are ready", func() bool {
		code, _ := s.get(t, "/readyz")
		return code == http.StatusOK
	})
	for _, d := range []*database{left, right} {
		require.Equal(t, []string{"admin"}, list[string](t, d, "SELECT role FROM rowrun.replica_status"))
	}
	s.signal(t, syscall.SIGTERM)
	require.Zero(t, s.wait(t))
}

// What doesn't go together is refused in words.
func TestShardsBesideAnotherDatabaseAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, args, says string }{
		{"DATABASE_URL=postgres://a@b/c", "--shard one=postgres://a@b/d", "--shard: is not accepted together with DATABASE_URL"},
		{"X=y", "--shard one=postgres://a@b/d --database-url postgres://a@b/c", "--shard: is not accepted together with --database-url"},
		{"X=y", "--shard One=postgres://a@b/d", "is not accepted as a name"},
		{"X=y", "--shard one=postgres://a@b/d --shard one=postgres://a@b/e", "is given twice"},
		{"X=y", "--shard one=env:NONE", "--shard one: env:NONE names a variable that is not set"},
		{"ROWRUN_SHARD=one=postgres://a@b,c/d,two=postgres://a@b,c/d", "", "--shard two: is the database of shard one"},
	} {
		code, output := rowrun(t, []string{c.variable}, append([]string{"serve"}, strings.Fields(c.args)...)...)
		require.Equal(t, 2, code, output)
		require.Contains(t, output, c.says)
	}
}

// A database that doesn't answer keeps what its last trips may claim; the rest goes on.
func TestShardWhoseDatabaseHangsLeavesSlotsToTheOthers(t *testing.T) {
	t.Parallel()
	const runs = 40
	cluster := storetest.OwnCluster(t)
	left, right, app := openDatabase(t, storetest.On(t, cluster)), newDatabase(t), newCounter(t)
	s := serveShards(t, "--shard", "left="+left.url, "--shard", "right="+right.url, "--concurrency", "4", "--app-url", app.url)
	s.log.await(t, 2, logStarted)
	insert := func(d *database, n int) {
		task := d.task(t, "HTTP", `{"path": "/busy"}`, nil)
		d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2)", task, n)
	}
	insert(left, 1000)
	eventually(t, patience, "left is at work", func() bool {
		return ask[int64](t, left, "SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'") > 20
	})
	cluster.Suspend()
	resume := sync.OnceFunc(cluster.Resume)
	defer resume()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := left.pool.Exec(ctx, "SELECT")
	require.ErrorIs(t, err, context.DeadlineExceeded, "the fault: it doesn't answer")

	begun := time.Now()
	insert(right, runs)
	eventually(t, patience, "right goes on", func() bool { return !unfinished(t, right) })
	took := time.Since(begun)
	t.Logf("%d runs of right took %s while left's database hung", runs, took)
	require.Less(t, took, 12*time.Second, "no trip of left has been given up by then")
	code, body := s.get(t, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, `"left/database":{"ok":false`)
	require.Contains(t, body, `"right/database":{"ok":true}`)

	resume()
	left.pool.Reset()
	eventually(t, patience, "left goes on", func() bool { return !unfinished(t, left) })
	most, _ := app.seen()
	require.Equal(t, 4, most)
}

// What ends a single replica ends the process: whatever starts it again serves all shards.
func TestDrainOfOneShardsReplicaDrainsTheProcess(t *testing.T) {
	t.Parallel()
	left, right := newDatabase(t), newDatabase(t)
	s := serveShards(t, "--shard", "left="+left.url, "--shard", "right="+right.url, "--concurrency", "2")
	s.meant = true
	s.log.await(t, 2, logStarted)
	run := right.job(t, "NOOP", `{"sleep": "2s"}`, nil)
	right.await(t, run, "RUNNING")
	left.exec(t, "SELECT rowrun.drain_replica(replica_id) FROM rowrun.replica_heartbeat")
	require.Zero(t, s.wait(t))
	require.Equal(t, "DONE", right.look(t, run).Status)
	for _, d := range []*database{left, right} {
		require.Zero(t, ask[int64](t, d, "SELECT count(*) FROM rowrun.replica_heartbeat"))
	}
}
