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
// wait for slots alone, ends are written beside the claims.
func TestEndsOfALimitGoAlongWithWhatTheyLetGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about, limit string
		carried      bool
	}{
		{"turns", `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('turns', '{x}', 'FAIR')`, true},
		{"places for all", `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('keys', '{x}', 1000)`, false},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			client := newClient(t, url)
			client.exec(c.limit)
			task := client.int(`INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id`, workType)
			client.exec(`INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('x', n % 10) FROM generate_series(1, 1000) n`, task)
			counted := &endsCounted{Store: openStore(t, url, time.Minute)}
			startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil },
				func(c *scheduler.Config) { c.Store, c.MaxBatch, c.TwoSteps = counted, 0, false })
			poll(t, "all ends", func() bool { return client.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == 1000 })
			carried, alone := counted.carried.Load(), counted.alone.Load()
			require.GreaterOrEqual(t, carried+alone, int64(1000))
			require.Equal(t, c.carried, carried > alone, "%d went along, %d alone", carried, alone)
		})
	}
}
