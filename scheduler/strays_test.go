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
