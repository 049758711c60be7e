package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// An id that is given again (after a failover, or where the sequence begins anew) names another run: the executor of the one that is
// gone is stopped, and neither its life nor its end is taken for the other's.
func TestAnIDThatIsGivenTwiceIsTwoRuns(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	began, strays := make(chan string, 2), make(chan int, 1)
	finish := map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{})}
	stopped := make(chan struct{})
	r := startReplica(t, url, func(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
		began <- run.TaskName
		select {
		case <-finish[run.TaskName]:
			return scheduler.Result{}, nil
		case <-ctx.Done():
		}
		if run.TaskName == "first" {
			close(stopped)
			<-finish["first"]
		}
		return scheduler.Result{}, context.Cause(ctx)
	}, func(c *scheduler.Config) {
		c.SweepInterval = 50 * time.Millisecond
		c.Observer.Swept = func(sweep scheduler.Sweep, runs int) {
			if sweep == scheduler.SweepStray {
				select {
				case strays <- runs:
				default:
				}
			}
		}
	})
	c := newClient(t, url)
	first := c.run("name", "'first'")
	require.Equal(t, "first", <-began)
	c.exec(`BEGIN`)
	c.exec(`TRUNCATE rowrun.task_run RESTART IDENTITY CASCADE`)
	second := c.run("name", "'second'")
	c.exec(`COMMIT`)
	require.Equal(t, first, second)
	require.Equal(t, "second", <-began)

	<-stopped // as lost: its row is another's
	close(finish["first"])
	poll(t, "that one executes", func() bool { return r.Status().Executing == 1 })
	for range 4 { // the sweep that was under way, and those that would end it
		require.Zero(t, <-strays, "it is executed here")
	}
	require.Equal(t, "RUNNING", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, second))
	c.exec(`SELECT rowrun.cancel_run($1)`, second)
	require.Equal(t, "CANCELED CANCELED", c.ends(second), "its cancel is its own")
}
