package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// reticent is a store in which concurrency can't be announced at first.
type reticent struct {
	scheduler.Store
	fails atomic.Int64
}

func (r *reticent) AnnounceConcurrency(ctx context.Context, id string, concurrency int) error {
	if r.fails.Add(-1) >= 0 {
		return errors.New("on purpose")
	}
	return r.Store.AnnounceConcurrency(ctx, id, concurrency)
}

// What a replica says of its slots is that of a recovery no longer than until it can say otherwise.
func TestSlotsAreAnnouncedBehindARecoveryUntilThatIsWritten(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.gone(time.Hour)
	c.overdue(3, time.Hour, 0)
	r := &reticent{}
	r.fails.Store(2)
	startReplica(t, url, atOnce, func(config *scheduler.Config) {
		config.Concurrency, config.RecoveryConcurrency = 2, 8
		r.Store = openStore(t, url, config.StaleAfter)
		config.Store = r
	})
	require.EqualValues(t, 8, c.int(`SELECT concurrency FROM rowrun.replica_heartbeat WHERE replica_id <> 'gone'`))
	poll(t, "its slots", func() bool {
		return c.int(`SELECT concurrency FROM rowrun.replica_heartbeat WHERE replica_id <> 'gone'`) == 2
	})
	require.Negative(t, r.fails.Load())
}
