package integration_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// examples is where the workers stand that docs/workers.md shows.
func examples(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "deploy", "workers"))
	require.NoError(t, err)
	return dir
}

// python is an interpreter that has psycopg: .ci/ensure psycopg looks for it in this order too.
func python(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), path, "-c", "import psycopg").Run() == nil {
			return path
		}
	}
	require.FailNow(t, "no python3 with psycopg 3 here", ".ci/ensure psycopg installs it")
	return ""
}

// workerLogin makes a login that is a worker and nothing else, and returns the URL with it.
func workerLogin(t *testing.T, d *database) string {
	t.Helper()
	role := "worker_" + ask[string](t, d, "SELECT left(md5(current_database()), 12)")
	d.exec(t, "CREATE ROLE "+role+" LOGIN IN ROLE rowrun_worker")
	t.Cleanup(func() { _, _ = d.pool.Exec(context.Background(), "DROP ROLE IF EXISTS "+role) })
	return loginOf(t, d.url, role)
}

func loginOf(t *testing.T, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.User(role)
	return u.String()
}

// Each example as its page says how to start it, by a login that is nothing but a worker, from the first run to its stop.
func TestExampleWorkers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	login := workerLogin(t, d)
	sidecar := launch(t, d.url, []string{"--http-addr", "127.0.0.1:0", "--http-worker-token", "file:" + tokenFile(t)})
	base := "http://" + sidecar.log.await(t, 1, "HTTP server started").Addr
	shell := exec.Command(filepath.Join(examples(t), "worker.sh")) //nolint:noctx // killed by cleanup
	shell.Env = append(environment(), "ROWRUN_URL="+base, "ROWRUN_WORKER_TOKEN=secret")
	py := exec.Command(python(t), filepath.Join(examples(t), "worker.py")) //nolint:noctx // killed by cleanup
	py.Env = append(environment(), "DATABASE_URL="+login)
	task := d.task(t, "GREET", "{}", nil)
	greet := func(name string) int64 {
		return ask[int64](t, d, "SELECT rowrun.run_task($1::bigint, jsonb_build_object('name', $2::jsonb))", task, name)
	}
	for _, cmd := range []*exec.Cmd{py, shell} {
		worker := spawn(t, cmd)
		began := time.Now()
		for range 3 {
			run := d.await(t, greet(`"you"`), "DONE")
			require.Equal(t, "hello you", ask[string](t, d, "SELECT result ->> 'text' FROM rowrun.task_run WHERE id = $1", run.ID))
		}
		refused := d.await(t, greet("7"), "FAILED")
		require.Equal(t, "ERROR", refused.Code)
		require.NotEmpty(t, refused.Detail)
		t.Logf("%s: four runs within %s", filepath.Base(cmd.Args[len(cmd.Args)-1]), time.Since(began))
		worker.signal(t, syscall.SIGTERM)
		require.Zero(t, worker.wait(t), worker.log.tail())
		require.Zero(t, ask[int](t, d, "SELECT count(*) FROM rowrun.worker_claim"))
	}
}

// herd is three workers on one database, each a process of the example; the third one is never harmed.
type herd struct {
	d       *database
	url     string // through a proxy that loses answers
	made    int
	workers [3]*worker
	harmed  []string // names of those that were killed or frozen
	kills   int
	freezes int
}

type worker struct {
	*replica
	name string
}

const workerLease = 5 * time.Second

func (h *herd) start(t *testing.T, slot int) {
	t.Helper()
	h.made++
	name := fmt.Sprintf("worker-%d-%d", slot, h.made)
	cmd := exec.Command(python(t), filepath.Join("testdata", "worker.py"), examples(t), name, fmt.Sprint(workerLease.Seconds())) //nolint:noctx // killed by cleanup
	cmd.Env = append(environment(), "DATABASE_URL="+h.url, "LEDGER_URL="+h.d.url, "PYTHONDONTWRITEBYTECODE=1")
	h.workers[slot] = &worker{spawn(t, cmd), name}
}

// holds says how many runs a worker has RUNNING.
func (h *herd) holds(t *testing.T, name string) int {
	t.Helper()
	return ask[int](t, h.d, `SELECT count(*) FROM rowrun.task_run r JOIN rowrun.replica_heartbeat b USING (replica_id) WHERE r.status = 'RUNNING' AND b.name = $1`, name)
}

// kill kills a worker that holds runs, as far as that can be said from outside, and starts another.
func (h *herd) kill(t *testing.T, slot int) {
	t.Helper()
	h.harmed = append(h.harmed, h.workers[slot].name)
	h.workers[slot].kill(t)
	if h.holds(t, h.workers[slot].name) > 0 {
		h.kills++
	}
	h.start(t, slot)
}

// freeze stops a worker for a while; beyond its lease where it holds runs.
func (h *herd) freeze(t *testing.T, slot int, beyond bool) {
	t.Helper()
	w := h.workers[slot]
	h.harmed = append(h.harmed, w.name)
	w.freeze(t)
	held := h.holds(t, w.name)
	if beyond && held > 0 {
		eventually(t, patience, "its runs were given up", func() bool { return h.holds(t, w.name) == 0 })
	}
	told := func(verdicts string) int {
		return ask[int](t, h.d, "SELECT count(*) FROM verdict WHERE worker = $1 AND verdict LIKE $2", w.name, verdicts)
	}
	before := told("%")
	w.signal(t, syscall.SIGCONT)
	if beyond && held > 0 {
		eventually(t, patience, "it goes on", func() bool { return told("%") > before || h.unfinished(t) == 0 })
		h.freezes += min(1, told("LOST")) // unless it was just about to hear of them
	}
}

// unfinished is how many jobs wait or run.
func (h *herd) unfinished(t *testing.T) int {
	t.Helper()
	return ask[int](t, h.d, "SELECT count(*) FROM rowrun.job WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')")
}

// Three workers, killed, frozen and robbed of answers at random. What each did stands in a ledger with its claim; what it
// was told of its results beside it.
func TestWorkersLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	n, rng := storetest.Count(300, 5000), chance(t)
	d := newDatabase(t)
	d.exec(t, `CREATE TABLE effect (run_id bigint, claim uuid, worker text)`)
	d.exec(t, `CREATE TABLE verdict (run_id bigint, claim uuid, worker text, verdict text)`)
	sidecar := serve(t, d.url, []string{"--sweep-interval", "200ms", "--heartbeat-interval", "500ms", "--stale-after", "3s"})

	var swallowed [2]atomic.Int64 // claims, ends: the first of each, and more at random
	var dice sync.Mutex
	lossy := rand.New(rand.NewPCG(rng.Uint64(), 0)) //nolint:gosec // not a secret
	lose := &plan{dice: func(labels []string) bool {
		dice.Lock()
		defer dice.Unlock()
		for i, function := range []string{"rowrun.claim_runs", "rowrun.finish_runs"} {
			if !slices.ContainsFunc(labels, func(l string) bool { return strings.Contains(l, function) }) {
				continue
			}
			if swallowed[i].Load() == 0 || lossy.IntN(10) == 0 {
				swallowed[i].Add(1)
				return true
			}
		}
		return false
	}}
	login, err := url.Parse(workerLogin(t, d))
	require.NoError(t, err)
	h := &herd{d: d, url: loginOf(t, newProxy(t, d.url, lose).url, login.User.Username())}

	task := d.task(t, "EFFECT", "{}", columns{"on_stale": "RETRY"})
	insert := func(some int) {
		d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int)", task, some)
	}
	insert(n)
	for slot := range h.workers {
		h.start(t, slot)
	}
	for h.kills == 0 || h.freezes == 0 { // at least one of each with runs in hand
		slot := min(1, h.kills)
		eventually(t, patience, "a worker that holds runs", func() bool {
			if h.unfinished(t) == 0 {
				n += 100
				insert(100)
			}
			return h.holds(t, h.workers[slot].name) > 0
		})
		if h.kills == 0 {
			h.kill(t, slot)
		} else {
			h.freeze(t, slot, true)
		}
	}
	for h.unfinished(t) > 0 {
		<-time.After(time.Duration(rng.IntN(500)) * time.Millisecond)
		if slot := rng.IntN(2); rng.IntN(3) == 0 {
			h.kill(t, slot)
		} else {
			h.freeze(t, slot, rng.IntN(3) == 0)
		}
		require.Less(t, len(sidecar.log.find(logFenced)), 1, "the sidecar lives")
	}
	for _, w := range h.workers {
		eventually(t, patience, "it works, and would hear of its end", func() bool {
			return ask[bool](t, d, "SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE name = $1)", w.name)
		})
		w.signal(t, syscall.SIGTERM)
		require.Zero(t, w.wait(t), w.log.tail())
	}
	checkLedger(t, d, h, n)
	require.Positive(t, h.kills, "the fault: a worker was killed while it held runs")
	require.Positive(t, h.freezes, "the fault: a worker was frozen until its runs were given up, and went on with them")
	require.Positive(t, swallowed[0].Load(), "the fault: the answer to a claim was lost")
	require.Positive(t, swallowed[1].Load(), "the fault: the answer to a finish was lost")
	t.Logf("%d runs, %d kills and %d freezes with runs in hand, %d answers to claims and %d to results lost",
		n, h.kills, h.freezes, swallowed[0].Load(), swallowed[1].Load())
}

// checkLedger holds what the workers wrote against what the database says.
func checkLedger(t *testing.T, d *database, h *herd, n int) {
	t.Helper()
	count := func(what, sql string, args ...any) int {
		c := ask[int](t, d, "SELECT count(*) FROM "+sql, args...)
		t.Logf("%s: %d", what, c)
		return c
	}
	require.Equal(t, n, count("jobs that are DONE", "rowrun.job WHERE status = 'DONE'"))
	require.Zero(t, count("effects of one run done twice", "(SELECT FROM effect GROUP BY run_id HAVING count(*) > 1) x"))
	require.Zero(t, count("DONE runs without the effect of the claim that ended them",
		`rowrun.task_run r WHERE r.status = 'DONE' AND NOT EXISTS (SELECT FROM effect e WHERE e.run_id = r.id AND e.claim::text = r.result ->> 'claim')`))
	require.Zero(t, count("runs that ended otherwise than DONE or LOST_CONTACT",
		`rowrun.task_run WHERE status <> 'DONE' AND (status, result ->> 'code', result ->> 'claim') IS DISTINCT FROM ('FAILED', 'LOST_CONTACT', NULL)`))
	lost := `rowrun.task_run r JOIN rowrun.replica_heartbeat b USING (replica_id) WHERE r.result ->> 'code' = 'LOST_CONTACT'`
	require.Positive(t, count("runs that waited for a lease", lost))
	require.Zero(t, count("of these in the hands of one that was neither killed nor frozen", lost+" AND NOT b.name = ANY ($1)", h.harmed))
	require.Zero(t, count("verdicts that are not what became of the run",
		`verdict v JOIN rowrun.task_run r ON r.id = v.run_id WHERE (v.verdict = 'OK') IS DISTINCT FROM (r.status = 'DONE' AND r.result ->> 'claim' = v.claim::text)`))
	require.Zero(t, count("runs in a worker's hands", "rowrun.worker_claim"))
}

// tokenFile holds the token of workers.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("secret\n"), 0o600))
	return path
}
