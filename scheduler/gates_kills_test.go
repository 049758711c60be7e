package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// orderWorld is a database of runs that wait for nothing but time, limits and each other, on replicas that die: what is asked is
// who starts when, and how many at once.
type orderWorld struct {
	url     string
	rnd     *rand.Rand
	limits  worldLimits
	fair    string         // how the keys of its FAIR limit begin; "": it has none
	weights map[string]int // of these keys; others have 1
	tasks   []int64
	aging   map[int64]time.Duration // by task
	reserve []scheduler.Reserve
	rate    int   // of recoveries; 0: any
	outages int64 // that a recovery followed

	overtaken int // the most starts with a later turn that went before one

	mu   sync.Mutex
	work map[int][]step // of each replica, in the order of time
}

// step is a run that an executor takes or leaves.
type step struct {
	run  int64
	ends bool
}

const killedSlots = 4

// Replicas die, whole or in the middle of a transaction, once all of them for longer than a lease. From the log: a FAIR limit's runs
// start within their bound; no key has more at once, or in a time, than its limits say; priorities have grown by what
// they should; what a recovery starts is under its rate. Nor do runs ever take slots that are reserved for others.
func TestOrderAndLimitsHoldUnderKills(t *testing.T) {
	t.Parallel()
	seed := uint64(storetest.Seed(t))
	slots := make(chan struct{}, storetest.Count(2, 8)) // of a world most is waiting
	worlds := storetest.Count(4, 500)
	var lived, outages, starts, turns, raised, recovered atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d starts in %d worlds, of which %d have recovered, %d of them by turns, %d under the rate of a recovery; %d priorities have grown",
			starts.Load(), lived.Load(), outages.Load(), turns.Load(), recovered.Load(), raised.Load())
		if t.Failed() {
			return
		}
		if lived.Load() > 1 && (starts.Load() == 0 || turns.Load() == 0) {
			t.Error("every other world is one of turns")
		}
		// A machine with too much to do may be too slow to count a backlog.
		if lived.Load() > 20 && (raised.Load() == 0 || recovered.Load() == 0 || 2*outages.Load() <= lived.Load()) {
			t.Error("too little happened")
		}
	})
	for i := range worlds {
		t.Run(fmt.Sprintf("seed=%d", int64(seed)+int64(i)), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			w := newOrderWorld(t, storetest.New(t), seed+uint64(i), i%2 == 0)
			past := w.live(t, seed+uint64(i))
			lived.Add(1)
			outages.Add(w.outages)
			var violations []string
			for _, c := range []struct {
				of  func(*history) (int, []string)
				sum *atomic.Int64
			}{{w.places, &starts}, {w.turns, &turns}, {w.grown, &raised}, {w.recoveries, &recovered}, {w.reserved, new(atomic.Int64)}} {
				n, wrong := c.of(past)
				c.sum.Add(int64(n))
				violations = append(violations, wrong...)
			}
			t.Logf("a run was overtaken by %d at most", w.overtaken)
			require.Empty(t, violations)
		})
	}
}

// newOrderWorld is one of turns, where all priorities are equal, or one of everything else.
func newOrderWorld(t *testing.T, url string, seed uint64, fair bool) *orderWorld {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not a secret
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	w := &orderWorld{
		url: url, rnd: rnd, limits: worldLimits{atOnce: map[string]int{}, rates: map[string]worldRate{}},
		weights: map[string]int{"0": 1 + rnd.IntN(4), "1": 1 + rnd.IntN(20)}, aging: map[int64]time.Duration{}, work: map[int][]step{},
	}
	insert := func(sql string, args ...any) (id int64) {
		require.NoError(t, conn.QueryRow(t.Context(), sql+` RETURNING id`, args...).Scan(&id))
		return id
	}
	if fair {
		w.fair = strconv.FormatInt(insert(`INSERT INTO rowrun.concurrency_limit (name, key_path, share, weights) VALUES ('turns', '{tenant}', 'FAIR', $1)`, w.weights), 10) + ":"
		w.tasks = append(w.tasks, insert(`INSERT INTO rowrun.task (type, on_stale) VALUES ($1, 'RETRY')`, workType))
		return w
	}
	w.limits = makeLimits(t, conn, rnd)
	w.reserve = []scheduler.Reserve{{Priority: 5, Slots: 1}, {Priority: 8, Slots: 1}}
	w.rate = 60
	for priority := range 9 {
		var aging any
		if priority%2 == 0 {
			aging = time.Second
		}
		task := insert(`INSERT INTO rowrun.task (type, on_stale, priority, aging) VALUES ($1, 'RETRY', $2, $3)`, workType, priority, aging)
		w.tasks = append(w.tasks, task)
		if aging != nil {
			w.aging[task] = time.Second
		}
	}
	return w
}

// live has writers insert while replicas are killed, and waits until all has ended.
func (w *orderWorld) live(t *testing.T, seed uint64) *history {
	t.Helper()
	historian, stopProbing := newHistorian(t, w.url)
	defer stopProbing()
	client := newClient(t, w.url)
	silences := countSilences(t, w.url)
	next := 0
	var replicas []*mortal
	start := func() {
		replicas = append(replicas, w.start(t, next, seed))
		next++
	}
	for range 3 {
		start()
	}
	burst := func() { // of one key many, of others some
		client.exec(`INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', $2::int) FROM generate_series(1, $3::int)`,
			pick(w.rnd, w.tasks...), pick(w.rnd, 0, 0, 1, 2, 3), 1+w.rnd.IntN(20))
	}
	for range 20 {
		burst()
		switch w.rnd.IntN(10) {
		case 0:
			replicas[0].kill()
			replicas = replicas[1:]
			start()
		case 1, 2, 3: // in the middle of something
			client.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'mortal' AND (state = 'active' OR random() < 0.2)`)
		}
		<-time.After(time.Duration(w.rnd.IntN(60)) * time.Millisecond)
	}
	for _, r := range replicas {
		r.kill()
	}
	for range 5 {
		burst()
	}
	poll(t, "three leases", func() bool {
		return client.int(`SELECT count(*) FROM rowrun.replica_heartbeat WHERE last_heartbeat + 3 * lease > clock_timestamp()`) == 0
	})
	replicas = nil
	for range 3 {
		start()
	}
	w.awaitEnds(client)
	poll(t, "the end of the recovery", func() bool { return client.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NULL`) == 0 })
	w.outages = client.int(`SELECT count(*) FROM rowrun.recovery`)
	require.LessOrEqual(t, w.outages, silences(), "a recovery for each time that no replica lived: one, but for a machine that stood still")
	for _, r := range replicas {
		r.kill()
	}
	t.Log(client.text(`SELECT concat_ws(E'\n', (SELECT string_agg(concat_ws(' ', 'recovery', began_at::time, ended_at::time, backlog, remaining, started), E'\n') FROM rowrun.recovery),
		(SELECT string_agg(concat_ws(' ', 'limit', name, max_running, rate, burst, share, weights), E'\n') FROM rowrun.concurrency_limit))`))
	stopProbing()
	return historian.read(t)
}

// awaitEnds waits until nothing is left to run, and tells of what is where nothing has ended for too long.
func (w *orderWorld) awaitEnds(client client) {
	client.t.Helper()
	moved, before := time.Now(), int64(0)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := client.left(); left > 0; left = client.left() {
		<-tick.C
		if left != before {
			moved, before = time.Now(), left
		}
		if time.Since(moved) > 30*time.Second {
			require.Fail(client.t, "runs are left", "%s\n%s", client.text(`SELECT coalesce(string_agg(concat_ws(' ', r.id, r.status, r.priority, 'cause', r.cause, 'wait', r.limit_wait, 'keys', r.limit_keys,
				'judge_at', r.judge_at::time, 'run_at', r.run_at::time, r.replica_id, (SELECT string_agg(w.cause || ' ' || w.detail, ', ') FROM rowrun.waiting(r.id) w)), E'\n' ORDER BY r.id), 'none')
				FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`),
				client.text(`SELECT now()::time || E'\n' || string_agg(concat_ws(' ', h.replica_id, h.name, h.state, h.last_heartbeat::time, h.concurrency, h.reserve, h.role, h.paused_at), E'\n') FROM rowrun.replica_heartbeat h`))
		}
	}
}

// mortal is a replica that dies without a word: its sessions are cut off, and its row, its runs and its locks stay as they are.
type mortal struct{ kill func() }

const mortalLease = 1200 * time.Millisecond

// countSilences counts the times that no heartbeat came for a lease, as another session sees them; the answer is what it has counted when it
// is asked.
func countSilences(t *testing.T, url string) (stop func() int64) {
	t.Helper()
	client := newClient(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	counted := make(chan int64, 1)
	go func() {
		var last, silences int64
		for ctx.Err() == nil {
			var now int64
			if err := client.conn.QueryRow(ctx, `SELECT coalesce(extract(epoch FROM max(last_heartbeat)) * 1000, 0)::bigint FROM rowrun.replica_heartbeat`).Scan(&now); err == nil {
				if last > 0 && now-last > mortalLease.Milliseconds() {
					silences++
				}
				last = max(last, now)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		counted <- silences
	}()
	return func() int64 {
		cancel()
		return <-counted
	}
}

func (w *orderWorld) start(t *testing.T, i int, seed uint64) *mortal {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var listening sync.WaitGroup
	h := listen(ctx, t, w.url, &listening)
	s, err := store.Open(ctx, store.Config{URL: w.url, Lease: mortalLease, MaxConns: 5, AppName: "mortal"})
	require.NoError(t, err)
	config := scheduler.Config{
		Store: s, Executors: map[string]scheduler.Executor{workType: executorFunc(func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
			w.note(i, step{run: run.ID})
			defer w.note(i, step{run: run.ID, ends: true})
			timer := time.NewTimer(time.Duration(3+run.ID%10) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				return scheduler.Result{}, context.Cause(ctx)
			case <-timer.C:
				return scheduler.Result{}, nil
			}
		})}, Name: fmt.Sprint("mortal-", i), Concurrency: killedSlots, Reserve: w.reserve, RecoveryRate: w.rate,
		MaxBatch: maxBatch(t, 1+999*(i%2)), TwoSteps: storetest.TwoSteps(t, seed%2 == 1),
		Wake: h.wake, Available: h.available, Ended: h.ended, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel),
	}
	shortLease(&config)
	config.DrainTimeout = 100 * time.Millisecond
	sched, err := scheduler.New(config)
	require.NoError(t, err)
	h.of.Store(sched)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = sched.Run(ctx) // which has to leave everything behind
	}()
	poll(t, "its heartbeat", func() bool { return sched.Status().ReplicaID != "" })
	var once sync.Once
	m := &mortal{kill: func() {
		once.Do(func() {
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				s.Close()
			}()
			poll(t, "that it is cut off", func() bool {
				_, err := s.FindRecovery(context.WithoutCancel(ctx))
				return err != nil
			})
			cancel()
			<-done
			<-closed
			listening.Wait()
		})
	}}
	t.Cleanup(m.kill)
	return m
}

func (w *orderWorld) note(replica int, s step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.work[replica] = append(w.work[replica], s)
}

// reserved holds what each replica has executed at once against the slots that it keeps for higher priorities, which are those of the claims.
func (w *orderWorld) reserved(past *history) (most int, violations []string) {
	priority := map[int64]int64{}
	for id, versions := range past.runs {
		for _, v := range versions {
			if v.row != nil && v.row.status == "RUNNING" {
				priority[id] = v.row.priority
			}
		}
	}
	for _, replica := range sorted(w.work) {
		running := map[int64]bool{}
		for _, s := range w.work[replica] {
			if s.ends {
				delete(running, s.run)
				continue
			}
			running[s.run] = true
			most = max(most, len(running))
			for _, r := range w.reserve {
				below := 0
				for id := range running {
					if priority[id] < int64(r.Priority) {
						below++
					}
				}
				if free := killedSlots - w.slotsFrom(r.Priority); below > free {
					violations = append(violations, fmt.Sprintf("replica %d runs %d below priority %d, and not %d", replica, below, r.Priority, free))
				}
			}
			if len(running) > killedSlots {
				violations = append(violations, fmt.Sprintf("replica %d runs %d at once", replica, len(running)))
			}
		}
	}
	return most, violations
}

// slotsFrom is how many slots are reserved for runs of at least some priority at or above this one.
func (w *orderWorld) slotsFrom(priority int) (n int) {
	for _, r := range w.reserve {
		if r.Priority >= priority {
			n += r.Slots
		}
	}
	return n
}
