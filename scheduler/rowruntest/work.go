package rowruntest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// Config says what Work runs. Only Executors is required.
type Config struct {
	// Executors by task type, as package replica takes them, and here the built-in types too: a stand-in for HTTP, SQL,
	// DATABASE_MIGRATE, COMMAND or NOOP is called with the payload that the sidecar's would get. Runs of other types stay AVAILABLE.
	// They are called from goroutines of their own: t.Fatal and require don't belong there, errors do.
	Executors map[string]scheduler.Executor
	// Until also runs what is scheduled for later, up to this time, in its order. The zero time: only what is due. Retries are run
	// without waiting, whatever their delay. Runs of schedules (task.schedule) wait for their time.
	Until time.Time
	// Concurrency is how many runs execute at once. Default 1: one after the other, in order of priority, run_at and id.
	Concurrency int
	// Patience is how long all of it may take, before the test fails with what is still running. Default 30 s.
	Patience time.Duration
}

// look is how often Work asks whether the runs have come to rest.
const look = 10 * time.Millisecond

// Work runs what is in the database at url until nothing is left to run, and returns the jobs that ended meanwhile, in that order.
// The doc of the package has what happens. The test fails where that takes longer than Config.Patience.
func Work(t testing.TB, url string, c Config) []Job {
	t.Helper()
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), c.Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("rowruntest: %v", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var began time.Time
	if err := conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&began); err != nil {
		t.Fatalf("rowruntest: %v", err)
	}
	var done sequence
	c.Executors = done.of(c.Executors)
	if err := work(ctx, t, conn, url, &c); err != nil {
		t.Fatalf("rowruntest: %v", err)
	}
	ended := In(t, conn).find(Want{}, 0, began)
	done.sort(ended)
	return ended
}

// sequence is in which order executors were done with jobs. Their ends are written behind that, some together and some by turns.
type sequence struct {
	mu   sync.Mutex
	last map[int64]int // by the id of the job
	n    int
}

// of is what writes the sequence down as these executors go.
func (s *sequence) of(executors map[string]scheduler.Executor) map[string]scheduler.Executor {
	noting := make(map[string]scheduler.Executor, len(executors))
	for name, executor := range executors {
		if f, function := executor.(scheduler.ExecutorFunc); executor == nil || function && f == nil {
			noting[name] = executor // refused later
			continue
		}
		noting[name] = scheduler.ExecutorFunc(func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
			defer s.done(run.RootID)
			return executor.Execute(ctx, run)
		})
	}
	return noting
}

func (s *sequence) done(job int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[int64]int{}
	}
	s.n++
	s.last[job] = s.n
}

// sort has those of these jobs that were executed stand in the order of that, in the places that they have now.
func (s *sequence) sort(jobs []Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var places []int
	var executed []Job
	for i := range jobs {
		if s.last[jobs[i].ID] > 0 {
			places, executed = append(places, i), append(executed, jobs[i])
		}
	}
	slices.SortFunc(executed, func(a, b Job) int { return s.last[a.ID] - s.last[b.ID] })
	for i, place := range places {
		jobs[place] = executed[i]
	}
}

// work has a replica until the runs have come to rest; it returns when that is gone.
func work(ctx context.Context, t testing.TB, conn *pgx.Conn, url string, c *Config) error {
	r, err := newReplica(ctx, t, conn, url, c)
	if err != nil {
		return err
	}
	defer r.store.Close()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	settling, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	ended := make(chan error, 1)
	go func() {
		err := r.scheduler.Run(serving)
		giveUp(errors.New("the replica has ended by itself"))
		ended <- err
	}()
	err = settle(settling, conn, r, c.Until)
	if settling.Err() != nil {
		err = context.Cause(settling)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("after %s it has not come to rest: %s", c.Patience, unrest(t, conn))
	}
	stop()
	return errors.Join(err, <-ended)
}

// replica is what runs the runs.
type replica struct {
	store     *store.Store
	scheduler *scheduler.Scheduler
	wake      chan struct{}
}

func newReplica(ctx context.Context, t testing.TB, conn *pgx.Conn, url string, c *Config) (*replica, error) {
	way := connect.Way{URL: url, DirectURL: url, Source: "the url of Work", DirectSource: "the url of Work"}
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	r := &replica{wake: make(chan struct{}, 1)}
	config := scheduler.Config{
		Executors: maps.Clone(c.Executors), Name: "rowruntest", Concurrency: max(c.Concurrency, 1), DrainTimeout: 2 * time.Second,
		SweepInterval: 5 * look, Wake: r.wake, Log: log,
	}
	// All queues, databases and commands that there are: a stand-in needs none of them.
	const known = `SELECT array_agg(DISTINCT k.queue), coalesce(array_agg(DISTINCT k.database_id) FILTER (WHERE k.database_id IS NOT NULL), '{}'),
		coalesce(array_agg(DISTINCT k.payload ->> 'command') FILTER (WHERE k.type = 'COMMAND' AND k.payload ? 'command'), '{}') FROM rowrun.task k`
	err := conn.QueryRow(ctx, known).Scan(&config.Queues, &config.Databases, &config.Commands)
	if err != nil {
		return nil, fmt.Errorf("%w: has the database Rowrun's schema? rowruntest.Schema makes it", err)
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	if r.store, _, err = way.Open(ctx, store.Config{AppName: "rowruntest", MaxConns: 6, Lease: config.StaleAfter}, log); err != nil {
		return nil, err
	}
	config.Store = r.store
	if r.scheduler, err = scheduler.New(config); err != nil {
		r.store.Close()
		return nil, err
	}
	return r, nil
}

// What runs on a replica, or could run: it is due, and no cause holds it but that replicas are busy. All of it is one look, as
// what one run's end lets go may be held when the other half is looked at.
const moving = `SELECT EXISTS (SELECT FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.replica_id IS NOT NULL)
    OR EXISTS (SELECT FROM rowrun.task_run r
               WHERE (r.status = 'AVAILABLE' OR r.status = 'PENDING' AND r.run_at <= now())
                 AND r.id NOT IN (SELECT w.run_id FROM rowrun.waiting() w WHERE w.cause <> 'CAPACITY'))`

// What comes next: retries at once, though not of those that asked to be called again later; and up to $1 what is scheduled.
// Of these the earliest, so that they run in the order of time.
const hasten = `WITH next AS MATERIALIZED (
    SELECT r.id, r.run_at FROM rowrun.task_run r LEFT JOIN rowrun.task_run p ON p.id = r.retry_of
    WHERE r.status = 'PENDING' AND r.run_at > now() AND r.tick IS NULL
      AND (r.attempt > 0 AND p.result ->> 'code' IS DISTINCT FROM 'SNOOZED' OR r.run_at <= $1))
UPDATE rowrun.task_run r SET run_at = now() FROM next n WHERE r.id = n.id AND n.run_at = (SELECT min(run_at) FROM next)`

// settle returns when nothing is left to run, or where that can't be known.
func settle(ctx context.Context, conn *pgx.Conn, r *replica, until time.Time) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		select {
		case r.wake <- struct{}{}:
		default:
		}
		if r.scheduler.Status().ReplicaID == "" {
			continue // not registered: everything waits for a replica
		}
		var busy bool
		err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error { return tx.QueryRow(ctx, moving).Scan(&busy) })
		if err != nil {
			return fmt.Errorf("look whether runs are left: %w", err)
		}
		if busy {
			continue
		}
		hastened, err := conn.Exec(ctx, hasten, until)
		if err != nil {
			return fmt.Errorf("make what comes next due: %w", err)
		}
		if hastened.RowsAffected() == 0 {
			return nil
		}
	}
}

// unrest is what still runs or waits, for the message of a test.
func unrest(t testing.TB, conn *pgx.Conn) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, conn.Config()) // the other's statement was broken off, and it with it
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close(ctx) }()
	jobs := In(t, conn)
	var left []Job
	for _, status := range []string{"RUNNING", "AVAILABLE", "PENDING"} {
		left = slices.Concat(left, jobs.All(Want{Status: status}))
	}
	return "left are" + lines(left)
}
