package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// endsCounted counts how endings are written.
type endsCounted struct {
	scheduler.Store
	carried, alone atomic.Int64
}

func (s *endsCounted) Work(ctx context.Context, trip store.Trip) (store.Round, error) {
	s.carried.Add(int64(len(trip.Endings)))
	return s.Store.Work(ctx, trip)
}

func (s *endsCounted) EndRuns(ctx context.Context, endings []store.Ending, lockTimeout time.Duration) ([]store.Ended, store.Opened, error) {
	s.alone.Add(int64(len(endings)))
	return s.Store.EndRuns(ctx, endings, lockTimeout)
}

// Runs of a limit end in the transaction that lets the next ones go, where those wait for their places; where runs are AVAILABLE that
// wait for slots alone, ends are written beside the claims. Turns are between the two: how many ends go along depends on the machine.
func TestEndsOfALimitGoAlongWithWhatTheyLetGo(t *testing.T) {
	t.Parallel()
	const runs = 500
	place := carriedEnds(t, runs, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('one', 1)`)
	turns := carriedEnds(t, runs, `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('turns', '{x}', 'FAIR')`)
	forAll := carriedEnds(t, runs, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{x}', 1000)`)
	require.Greater(t, place, int64(runs/2), "one place")
	require.Less(t, forAll, int64(runs/2), "places for all")
	require.Greater(t, turns, 2*forAll, "turns")
}

// carriedEnds is how many ends of NOOP runs of ten keys go along with a pass, under a limit.
func carriedEnds(t *testing.T, runs int64, limit string) int64 {
	url := storetest.New(t)
	client := newClient(t, url)
	client.exec(limit)
	task := client.int(`INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id`, workType)
	client.exec(`INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('x', n % 10) FROM generate_series(1, $2::bigint) n`, task, runs)
	counted := &endsCounted{Store: openStore(t, url, time.Minute)}
	startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil },
		func(c *scheduler.Config) { c.Store, c.MaxBatch, c.TwoSteps = counted, 0, false })
	poll(t, "all ends", func() bool { return client.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == runs })
	carried, alone := counted.carried.Load(), counted.alone.Load()
	require.GreaterOrEqual(t, carried+alone, runs)
	return carried
}
