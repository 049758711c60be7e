package scheduler_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// lateAnswers is a store whose first claim beside dispatch is answered late, as over a network that loses packets.
type lateAnswers struct {
	scheduler.Store
	late    chan int64 // the run that was claimed
	release <-chan struct{}
	once    atomic.Bool
}

func (l *lateAnswers) Work(ctx context.Context, t store.Trip) (store.Round, error) {
	round, err := l.Store.Work(ctx, t)
	if t.Lane == store.LaneEnds && err == nil && len(round.Claims) > 0 && l.once.CompareAndSwap(false, true) {
		l.late <- round.Claims[0].ID
		<-l.release
	}
	return round, err
}

// A run that the recorder has claimed, and of which it doesn't know yet, is no stray, however many sweeps see its row.
func TestAClaimThatIsAnsweredLateIsNoStray(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	release := make(chan struct{})
	answer := sync.OnceFunc(func() { close(release) })
	defer answer()
	l := &lateAnswers{late: make(chan int64, 1), release: release}
	task := c.int(`INSERT INTO rowrun.task (type, on_stale) VALUES ('` + workType + `', 'RETRY') RETURNING id`)
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 50)`, task)
	strays := make(chan int, 1000)
	startReplica(t, url, done, func(config *scheduler.Config) {
		config.Concurrency, config.MaxBatch, config.TwoSteps, config.SweepInterval = 1, 1, true, 20*time.Millisecond
		config.Observer.Swept = func(sweep scheduler.Sweep, runs int) {
			if sweep == scheduler.SweepStray {
				select {
				case strays <- runs:
				default:
				}
			}
		}
		l.Store = openStore(t, url, config.StaleAfter)
		config.Store = l
	})
	run := <-l.late
	// A sweep that waits for the claim is right; three that pass by it are enough to end it.
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	for sweeps := 0; sweeps < 4; sweeps++ {
		select {
		case found := <-strays:
			require.Zero(t, found, "run %d is being claimed", run)
		case <-patience.C:
			sweeps = 4
		}
	}
	answer()
	require.Equal(t, []string{"DONE"}, c.chain(run))
}

// deaf is a store whose heartbeats aren't answered once a run was claimed, and whose claim is answered when it is let.
type deaf struct {
	scheduler.Store
	claimed chan int64
	release <-chan struct{}
	once    atomic.Bool
}

func (d *deaf) Work(ctx context.Context, t store.Trip) (store.Round, error) {
	round, err := d.Store.Work(ctx, t)
	if err == nil && len(round.Claims) > 0 && d.once.CompareAndSwap(false, true) {
		d.claimed <- round.Claims[0].ID
		<-d.release
	}
	return round, err
}

func (d *deaf) Heartbeat(ctx context.Context, id string, running int) error {
	if !d.once.Load() {
		return d.Store.Heartbeat(ctx, id, running)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.release:
		return d.Store.Heartbeat(ctx, id, running)
	}
}

// A run whose claim is answered when two thirds of the lease are over isn't executed: another replica may execute its successor.
func TestAClaimThatIsAnsweredAfterTheLeaseIsNotExecuted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	release := make(chan struct{})
	answer := sync.OnceFunc(func() { close(release) })
	defer answer()
	d := &deaf{claimed: make(chan int64, 1), release: release}
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('` + workType + `') RETURNING id`)
	c.exec(`INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	var executed atomic.Int64
	startReplica(t, url, func(_ context.Context, r *scheduler.Run) (scheduler.Result, error) {
		executed.Store(r.ID)
		return scheduler.Result{}, nil
	}, func(config *scheduler.Config) {
		config.HeartbeatInterval, config.StaleAfter = 300*time.Millisecond, 1500*time.Millisecond
		d.Store = openStore(t, url, config.StaleAfter)
		config.Store = d
	})
	run := <-d.claimed
	c.exec(`SELECT pg_sleep(1.2)`) // two thirds of the lease are one second
	answer()
	poll(t, "its end", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND result ->> 'code' IN ('LOST_CONTACT', 'STALE')`, run) == 1
	})
	require.NotEqual(t, run, executed.Load())
}
