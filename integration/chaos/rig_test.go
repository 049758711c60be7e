package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/integration/history"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// patience is how long anything may take once no fault is left; make mutants has less.
var patience = func() time.Duration { //nolint:gochecknoglobals // a constant but for the variable
	if given, err := time.ParseDuration(os.Getenv("ROWRUN_CHAOS_PATIENCE")); err == nil {
		return given
	}
	return 45 * time.Second
}()

// rig is one schedule on its way.
type rig struct {
	rnd          *rand.Rand
	cluster      *embeddedpg.Cluster
	clock        *clock
	url, dir     string
	pool, target *pgxpool.Pool
	world        *world
	ledger       *ledger
	past         *history.History
	members      []*member
	all          []*process
	met          []string // faults, in order
	sweep        string
}

// member is a replica's place: processes come and go.
type member struct {
	*process
	net      *network
	flags    []string
	twoSteps bool
}

// lane is a server, for schedules one after another.
type lane struct {
	cluster  *embeddedpg.Cluster
	clock    *clock
	template string
}

func newLane(t *testing.T) *lane {
	t.Helper()
	clock := newClock(t)
	cluster := storetest.OwnCluster(t, clock.env()...)
	l := &lane{cluster: cluster, clock: clock}
	admin := connect(t, cluster.SocketURL("postgres"))
	run(t, admin, "LOAD 'auto_explain'") // its settings have names from here on
	for _, setting := range []string{
		"max_slot_wal_keep_size = '4GB'",
		"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = '1s'", "auto_explain.log_nested_statements = on",
	} {
		run(t, admin, "ALTER SYSTEM SET "+setting)
	}
	run(t, admin, "SELECT pg_reload_conf()")
	made := storetest.On(t, cluster)
	l.template = ask[string](t, connect(t, made), "SELECT current_database()")
	return l
}

// database is a copy of the template, dropped after the test.
func (l *lane) database(t *testing.T, name, template string) string {
	t.Helper()
	admin := connect(t, l.cluster.SocketURL("postgres"))
	run(t, admin, "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = $1", template)
	run(t, admin, "CREATE DATABASE "+name+" TEMPLATE "+template)
	url := l.cluster.SocketURL(name)
	t.Cleanup(func() {
		storetest.DropSlots(t, url)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := pgxpool.New(ctx, l.cluster.SocketURL("postgres"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		require.NoError(t, err)
	})
	return url
}

// Schedules of faults against random work, from a seed each: what was acknowledged is there, nothing is doubled, no gate is
// violated, everything is told, and all of it comes to an end.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, count := storetest.Seed(t), storetest.Count(3, 1000)
	lanesAtOnce := storetest.Count(2, 4)
	var ends time.Time // none: count decides
	if text := os.Getenv("ROWRUN_CHAOS_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		require.NoError(t, err)
		count, ends = 1<<20, time.Now().Add(time.Duration(seconds)*time.Second)
	}
	if text := os.Getenv("ROWRUN_CHAOS_COUNT"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	seen := &coverage{met: map[string]map[string]int{}}
	next, failed := make(chan int64), make(chan struct{})
	fail := sync.OnceFunc(func() { close(failed) })
	var lanes sync.WaitGroup
	t.Run("lanes", func(t *testing.T) {
		for i := range min(lanesAtOnce, count) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				l := newLane(t)
				for seed := range next {
					t.Run("seed="+strconv.FormatInt(seed, 10), func(t *testing.T) { l.schedule(t, seed, seen) }) //nolint:paralleltest // one server: one after another
					if t.Failed() && os.Getenv("ROWRUN_CHAOS_FIRST") != "" {
						fail()
						return
					}
				}
			})
		}
		lanes.Go(func() {
			defer close(next)
			for i := range int64(count) {
				if !ends.IsZero() && i > 0 && time.Now().After(ends) {
					return
				}
				select {
				case next <- seed + i:
				case <-failed:
					return
				case <-t.Context().Done():
					return
				}
			}
		})
	})
	lanes.Wait()
	t.Log(seen)
}

func (l *lane) schedule(t *testing.T, seed int64, seen *coverage) {
	rnd := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // not a secret
	r := &rig{rnd: rnd, cluster: l.cluster, clock: l.clock, dir: t.TempDir()}
	name := "chaos_" + strconv.FormatUint(uint64(seed), 36) //nolint:gosec // a name
	r.url = l.database(t, name, l.template)
	r.pool = connect(t, r.url)
	run(t, r.pool, "SELECT rowrun.renew_deployment(true)")
	var err error
	r.past, err = history.Begin(t.Context(), r.url)
	require.NoError(t, err)
	r.sweep = anyOf(rnd, "300ms", "2s")
	r.ledger = newLedger(t, r.pool, rand.New(rand.NewPCG(uint64(seed), 1))) //nolint:gosec // not a secret
	direct := l.database(t, name+"_target", "template0")
	target := newNetwork(t, direct)
	r.world = newWorld(t, r.dir, rnd, r.pool, direct, target.url, r.ledger.url+"/hook")
	r.target = r.world.target
	for range 2 + rnd.IntN(2) {
		m := &member{net: newNetwork(t, r.url), flags: r.someFlags(), twoSteps: rnd.IntN(2) == 0}
		r.members = append(r.members, m)
		r.start(t, m)
	}
	until(t, patience, "somebody writes the stream", func() bool {
		return ask[bool](t, r.pool, `SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name LIKE 'rowrun_stream_%' AND active AND confirmed_flush_lsn IS NOT NULL AND database = current_database())`)
	})

	if seed%2 == 0 { // replicas that plan by the statistics of a single run
		require.NoError(t, r.world.acknowledge(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", r.world.jobs[0]))
		run(t, r.pool, "ANALYZE")
	}
	run(t, r.pool, "UPDATE rowrun.task SET schedule = '@every 1s' WHERE schedule = '-'")
	t.Cleanup(func() { r.tell(t) })

	ctx, cancel := context.WithCancel(t.Context())
	working, rest := context.WithCancel(t.Context()) // workers stay until all is over
	defer rest()
	var clients, workers sync.WaitGroup
	defer workers.Wait()
	defer rest()
	for i := range uint64(3) {
		clients.Go(func() { r.world.act(ctx, rand.New(rand.NewPCG(uint64(seed), 10+i))) }) //nolint:gosec // not a secret
	}
	for i := range uint64(2) {
		net := newNetwork(t, r.url)
		o := &outside{pool: connect(t, net.url), l: r.ledger, rnd: rand.New(rand.NewPCG(uint64(seed), 20+i)), name: fmt.Sprintf("worker %d", i)} //nolint:gosec // not a secret
		workers.Go(func() { o.work(working) })
		clients.Go(func() { lossy(ctx, net, 100*time.Millisecond, rand.New(rand.NewPCG(uint64(seed), 30+i))) }) //nolint:gosec // not a secret
	}
	losing, heal := context.WithCancel(t.Context()) // of the target's network, for some time into what people lift
	var losses sync.WaitGroup
	defer losses.Wait()
	defer heal()
	losses.Go(func() { lossy(losing, target, 200*time.Millisecond, rand.New(rand.NewPCG(uint64(seed), 40))) }) //nolint:gosec // not a secret
	func() {
		defer clients.Wait()
		defer cancel()
		all := faults()
		if only := os.Getenv("ROWRUN_CHAOS_FAULTS"); only != "" {
			which := regexp.MustCompile(only)
			all = slices.DeleteFunc(all, func(f fault) bool { return !which.MatchString(f.name) })
			require.NotEmpty(t, all, "ROWRUN_CHAOS_FAULTS")
		}
		for range 2 + rnd.IntN(3) {
			pause(t, 100+rnd.IntN(300))
			f := anyOf(rnd, all...)
			r.met = append(r.met, f.name)
			t.Log(time.Now().Format("15:04:05.000"), f.name)
			f.do(r, t, anyOf(rnd, r.members...))
		}
		pause(t, 300)
	}()
	mend := time.AfterFunc(6*time.Second, heal)
	defer mend.Stop()
	r.settle(t)
	heal()
	losses.Wait()
	r.withoutSweeps(t)
	r.world.migrateAgain(t)
	r.world.awaitMessages(t)
	rest()
	workers.Wait()
	r.stop(t)
	r.check(t, seen)
}

// tell shows, of a schedule that failed, what its processes and the server said last, why runs wait, and what the app saw of
// those that did not end.
func (r *rig) tell(t *testing.T) {
	if !t.Failed() {
		return
	}
	for i, p := range r.all {
		t.Logf("process %d, %v:\n%s", i, p.ids(), p.tail())
	}
	server, _ := os.ReadFile(filepath.Join(r.cluster.Dir(), "server.log"))
	t.Logf("the server, with the plan of what took a second and longer:\n%s", server[max(0, len(server)-64<<10):])
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	rows, _ := r.pool.Query(ctx, `SELECT row_to_json(r)::text FROM rowrun.task_run r WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')`)
	stuck, _ := pgx.CollectRows(rows, pgx.RowTo[string])
	t.Log(strings.Join(stuck, "\n"))
	rows, _ = r.pool.Query(ctx, `SELECT row_to_json(w)::text FROM rowrun.waiting() w UNION ALL
		SELECT row_to_json(m)::text FROM rowrun.gate_mark m UNION ALL SELECT row_to_json(h)::text FROM rowrun.replica_heartbeat h`)
	around, _ := pgx.CollectRows(rows, pgx.RowTo[string])
	t.Log(strings.Join(around, "\n"))
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	for _, c := range r.ledger.calls {
		if slices.ContainsFunc(stuck, func(row string) bool { return strings.HasPrefix(row, fmt.Sprintf(`{"id":%d,`, c.run)) }) {
			t.Logf("call of run %d: %s to %s, answered %d", c.run, c.span.from, c.span.to, c.status)
		}
	}
}

// lossy has a network, a worker's or that of a target, lose answers now and then: each time after every to four times that.
func lossy(ctx context.Context, net *network, every time.Duration, rnd *rand.Rand) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(every + time.Duration(rnd.Int64N(int64(3*every)))):
			net.lose.Store(true)
			if rnd.IntN(2) == 0 {
				net.swallowAny.Store(true)
			} else {
				net.reset()
			}
		}
	}
	net.heal()
}

func (r *rig) someFlags() []string {
	return []string{
		"--concurrency", strconv.Itoa(2 + r.rnd.IntN(8)), "--wake", anyOf(r.rnd, "auto", "notify", "wal"), "--sweep-interval", r.sweep,
		"--heartbeat-interval", "500ms", "--stale-after", "3s", "--stale-sweep-interval", "500ms", "--stream-source", "wal",
		"--webhook-allow-cidr", "127.0.0.0/8", "--drain-timeout", "2s", "--app-url", r.ledger.url, "--config", r.world.config,
	}
}

func (r *rig) start(t *testing.T, m *member) {
	t.Helper()
	m.process = start(t, r.dir, len(r.all), m.net.url, []string{"ROWRUN_TWO_STEPS=" + strconv.FormatBool(m.twoSteps)}, m.flags...)
	r.all = append(r.all, m.process)
}

// withoutSweeps has runs end together where nothing but their ends can decide what follows.
func (r *rig) withoutSweeps(t *testing.T) {
	t.Helper()
	r.sweep = "1h"
	for _, m := range r.members {
		m.flags = r.someFlags()
		r.restart(t, m)
	}
	for range 12 {
		r.world.endTogether(t)
	}
}

func (r *rig) other(m *member) *member {
	for _, o := range r.members {
		if o != m {
			return o
		}
	}
	return m
}

// settle ends every fault and waits until all is over.
func (r *rig) settle(t *testing.T) {
	t.Helper()
	for _, m := range r.members {
		m.net.heal()
		require.True(t, m.alive(), "ends: a replica ended by itself: %s\n%s", m.cmd.ProcessState, m.tail())
	}
	ended := time.Now()
	r.world.lift(t)
	t.Logf("all over %s after the last fault", time.Since(ended).Round(time.Millisecond))
}

// stop ends the replicas, once everything is told.
func (r *rig) stop(t *testing.T) {
	t.Helper()
	r.ledger.taken.Wait()
	awaitNone(t, patience, "stream: everything is told", func() string {
		end := ask[string](t, r.pool, "SELECT pg_current_wal_insert_lsn()::text")
		var left string
		for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); pause(t, 50) {
			left = strings.Join(list[string](t, r.pool, `SELECT slot_name || ' at ' || confirmed_flush_lsn FROM pg_replication_slots
				WHERE slot_name LIKE 'rowrun_stream_%' AND database = current_database() AND confirmed_flush_lsn < $1::text::pg_lsn`, end), ", ")
			if left == "" {
				return ""
			}
		}
		return left
	})
	for _, m := range r.members {
		m.stop(t)
	}
}
