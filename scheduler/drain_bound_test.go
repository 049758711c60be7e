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

// silentStore answers no trip from a moment on, as behind a connection that has gone silent.
type silentStore struct {
	*store.Store
	silent atomic.Bool
	asked  atomic.Int64 // trips that wait
}

func (s *silentStore) Work(ctx context.Context, trip store.Trip) (store.Round, error) {
	if !s.silent.Load() {
		return s.Store.Work(ctx, trip)
	}
	s.asked.Add(1)
	<-ctx.Done()
	return store.Round{}, ctx.Err()
}

// The time of a drain counts from the stop, and a trip that was under way then has its part of it.
func TestADrainIsNoLongerThanItsTimeWhateverIsUnderWay(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := &silentStore{Store: openStore(t, url, time.Minute)}
	r := startReplica(t, url, untilTold, func(c *scheduler.Config) { c.Store, c.DrainTimeout = s, 3*time.Second })
	c := newClient(t, url)
	held := c.run("name", "'held'")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held) == "RUNNING" })
	s.silent.Store(true)
	c.run("name", "'free'")
	poll(t, "a trip that isn't answered", func() bool { return s.asked.Load() > 0 })
	begun := time.Now()
	r.stop()
	require.Less(t, time.Since(begun), 8*time.Second, "a trip may take 15 s")
	require.Equal(t, "FAILED DRAINED", c.ends(held), "what it ran had its time to stop, and was recorded")
}

// What has ended is recorded also where the database takes it only when the time of the drain is over.
func TestADrainRecordsWhatTheDatabaseTakesLate(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	const drain = 3 * time.Second
	r := startReplica(t, url, untilTold, func(c *scheduler.Config) { c.DrainTimeout = drain })
	c, user := newClient(t, url), newClient(t, url)
	held := c.run("name", "'held'")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held) == "RUNNING" })
	user.exec(`BEGIN`)
	user.exec(`SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE`, held)
	over := time.After(drain + 200*time.Millisecond)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.stop()
	}()
	<-over
	require.Equal(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, held), "the lock holds nothing: nothing is tested")
	user.exec(`ROLLBACK`)
	<-stopped
	require.Equal(t, "FAILED DRAINED", c.ends(held))
}
