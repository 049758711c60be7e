package scheduler_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
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

// Eight writers, three schedulers, one database. Every promotion is held against what its snapshot must have seen;
// and with sweeps that never come, nothing that could run is left waiting.
func TestGatesHoldAndNothingIsForgotten(t *testing.T) {
	t.Parallel()
	seed := uint64(storetest.Seed(t))
	slots := make(chan struct{}, 2)
	worlds := storetest.Count(12, 500)
	var promotions, atOnce atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d promotions in %d worlds, %d of them with their claims", promotions.Load(), worlds, atOnce.Load())
		if t.Failed() {
			return
		}
		if int(promotions.Load())/worlds <= 25 { // require would end the report, too, which is still to come
			t.Error("too little happened")
		}
		if (atOnce.Load() > 0) != (worlds > 1 && !storetest.TwoSteps(t, false)) {
			t.Error("promoted and claimed at once, or not")
		}
	})
	for i := range worlds {
		t.Run(fmt.Sprintf("seed=%d", int64(seed)+int64(i)), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			all, claimed := runWorld(t, seed+uint64(i))
			promotions.Add(int64(all))
			atOnce.Add(int64(claimed))
		})
	}
}

// runWorld returns the number of promotions, and of those that were claims too.
func runWorld(t *testing.T, seed uint64) (promoted, claimed int) {
	url := storetest.New(t)
	historian, stopProbing := newHistorian(t, url)
	defer stopProbing()
	w := newWorld(t, url, seed)
	stopSchedulers := startSchedulers(t, url, 3, seed)

	var writers sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		writers.Go(func() {
			failed[i] = w.write(t.Context(), rand.New(rand.NewPCG(seed, uint64(i)+2)), 14) //nolint:gosec // not a secret
		})
	}
	writers.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	if n := w.multixacts.Load(); n > 0 {
		require.Equal(t, int64(1), n, "the server refuses more than once in a world")
		t.Log("PostgreSQL refused a statement: new multixact has more than one updating member")
	}

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	// What a person lifts may fail again, so that they lift again.
	rounds := 0
	for left := requireQuiet(t, conn); left > 0; left = requireQuiet(t, conn) {
		require.NoError(t, w.lift(t.Context(), conn))
		rounds++
		require.Less(t, rounds, 30, "what a person lifted changes nothing")
	}
	stopSchedulers()
	stopProbing()

	past := historian.read(t)
	violations, promotions := past.check(w.limits)
	require.Empty(t, violations, "of %d promotions", promotions)
	require.Greater(t, promotions, 10, "too little happened") // of some dozens; one history of a thousand has 18
	return promotions, past.claimed()
}

// startSchedulers runs n of them, woken by notifications alone.
func startSchedulers(t *testing.T, url string, n int, seed uint64) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range n {
		s := openStore(t, url, time.Minute)
		h := listen(ctx, t, url, &wg)
		sched, err := scheduler.New(scheduler.Config{
			Store: s, Executors: map[string]scheduler.Executor{workType: dice{seed}}, Name: fmt.Sprint("gates-", i), Concurrency: 2 + i,
			MaxBatch:      maxBatch(t, 1+999*(i%2)),           // with and without batches, side by side
			TwoSteps:      storetest.TwoSteps(t, seed%2 == 1), // in half of the worlds
			SweepInterval: 10 * time.Minute, StaleSweepInterval: 10 * time.Minute, DrainTimeout: 10 * time.Second,
			Wake: h.wake, Available: h.available, Ended: h.ended, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		})
		require.NoError(t, err)
		h.of.Store(sched)
		wg.Go(func() { require.NoError(t, sched.Run(ctx)) }) //nolint:testifylint // ends with the test
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			wg.Wait()
		})
	}
	t.Cleanup(stop)
	return stop
}

func openStore(t *testing.T, url string, lease time.Duration) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, Lease: lease, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// dice is an executor that takes a random time and fails now and then, the same for a run of the same seed.
type dice struct{ seed uint64 }

func (d dice) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, d.seed, run.ID)
	rnd := rand.New(rand.NewPCG(h.Sum64(), d.seed)) //nolint:gosec // not a secret
	timer := time.NewTimer(time.Duration(rnd.IntN(12)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return scheduler.Result{}, context.Cause(ctx)
	case <-timer.C:
	}
	if rnd.IntN(5) == 0 {
		return scheduler.Result{}, &scheduler.Failure{Code: "DICE", Detail: "bad luck", Retryable: rnd.IntN(4) > 0}
	}
	return scheduler.Result{}, nil
}
