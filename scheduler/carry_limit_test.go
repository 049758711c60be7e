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

// Where a limit has places for all, runs are AVAILABLE that wait for slots alone: most ends are written beside the claims, as they are
// without a limit. How many go along under narrow limits and turns depends on the machine: TestEndsThatAPassTakesAlong says which do.
func TestEndsOfALimitWithPlacesForAllAreWrittenBesideTheClaims(t *testing.T) {
	t.Parallel()
	const runs int64 = 500
	url := storetest.New(t)
	client := newClient(t, url)
	client.exec(`INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{x}', 1000)`)
	task := client.int(`INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id`, workType)
	client.exec(`INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('x', n % 10) FROM generate_series(1, $2::bigint) n`, task, runs)
	counted := &endsCounted{Store: openStore(t, url, time.Minute)}
	startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil },
		func(c *scheduler.Config) { c.Store, c.MaxBatch, c.TwoSteps = counted, 0, false })
	poll(t, "all ends", func() bool { return client.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == runs })
	carried, alone := counted.carried.Load(), counted.alone.Load()
	require.GreaterOrEqual(t, carried+alone, runs)
	require.Less(t, carried, runs/2)
}
