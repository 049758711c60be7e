package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// Somebody says look without end: passes are bounded, and a run starts all the same.
func TestWakeUpsWithoutEndAreFewPasses(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	always := make(chan struct{})
	close(always)
	began := time.Now()
	r := startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) {
		return scheduler.Result{}, nil
	}, func(config *scheduler.Config) { config.Wake, config.Available, config.Ended = always, always, always })
	const committed = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
	run := c.run("name", "'flooded'")
	require.Equal(t, "DONE", c.ends(run))
	<-time.After(time.Until(began.Add(4 * time.Second)))
	late := c.run("name", "'flooded later'")
	asked := time.Now()
	require.Equal(t, "DONE", c.ends(late))
	require.Less(t, time.Since(asked), 20*time.Second)
	r.stop() // a session tells its counts at its end
	took := time.Since(began).Seconds()
	// 200 at once, then 40 a second, each with a second look; the watch of what executes, and what else there is.
	require.Less(t, float64(c.int(committed)), 2*(200+40*took)+100*took+500)
}
