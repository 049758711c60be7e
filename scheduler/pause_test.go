package scheduler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A paused replica goes on with what runs, claims nothing, stays ACTIVE, and is no replica that gates count on.
func TestPausedReplicaClaimsNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "first" {
			<-release
		}
		return scheduler.Result{}, nil
	}, quickSweeps)
	c, s := newClient(t, url), openStore(t, url, time.Minute)
	status := func(run int64) string { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) }
	first := c.run("name", "'first'")
	poll(t, "the start", func() bool { return status(first) == "RUNNING" })

	ids, err := s.PauseReplica(t.Context(), r.Status().ReplicaID, true)
	require.NoError(t, err)
	require.Equal(t, []string{r.Status().ReplicaID}, ids)
	poll(t, "that it knows and says so", func() bool {
		return r.Status().Paused && c.text(`SELECT types::text || state || live FROM rowrun.replica_status WHERE paused_at IS NOT NULL`) == "{}ACTIVEtrue"
	})
	second := c.run("name", "'second'")
	poll(t, "the promotion", func() bool { return status(second) == "AVAILABLE" })
	gated := c.run("name, database_id", "'gated', 'db'")
	for _, run := range []int64{second, gated} {
		poll(t, "the cause", func() bool { return c.text(`SELECT cause FROM rowrun.waiting($1)`, run) == "NO_REPLICA" })
	}
	close(release)
	require.Equal(t, "DONE", c.ends(first))
	require.Equal(t, "AVAILABLE PENDING", status(second)+" "+status(gated))

	_, err = s.PauseReplica(t.Context(), "test", false) // by name
	require.NoError(t, err)
	require.Equal(t, "DONE", c.ends(second))
	require.Equal(t, "DONE", c.ends(gated))
	require.False(t, r.Status().Paused)
	_, err = s.PauseReplica(t.Context(), "nobody", true)
	require.ErrorIs(t, err, store.ErrNoReplica)
}

// The claim itself asks: a pause holds from its commit on, long before the replica looks. A replica that is started
// afterwards under the same name is another one.
func TestPauseHoldsAtOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	work := func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }
	a := startReplica(t, url, work, nil)
	c, s := newClient(t, url), openStore(t, url, time.Minute)
	require.Equal(t, "DONE", c.ends(c.run("name", "'before'")))
	_, err := s.PauseReplica(t.Context(), "test", true)
	require.NoError(t, err)
	var runs []int64
	for range 20 {
		runs = append(runs, c.run("priority", "1"))
	}
	poll(t, "the promotion", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`) == 20
	})
	b := startReplica(t, url, work, nil)
	for _, run := range runs {
		require.Equal(t, "DONE", c.ends(run))
		require.Equal(t, b.Status().ReplicaID, c.text(`SELECT replica_id FROM rowrun.task_run WHERE id = $1`, run))
	}
	require.NotEqual(t, a.Status().ReplicaID, b.Status().ReplicaID)
}

// Where another replica writes the stream, the line that says that a run FAILED has its task's level; others have info.
func TestEndedLineHasTheTasksLevel(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var log bytes.Buffer
	r := startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "good" {
			return scheduler.Result{}, nil
		}
		return scheduler.Result{}, &scheduler.Failure{Detail: "no"}
	}, func(c *scheduler.Config) {
		c.Log, c.LogRuns = zerolog.New(zerolog.SyncWriter(&log)), func() bool { return true }
	})
	c := newClient(t, url)
	want := map[int64]string{}
	for _, level := range []string{"debug", "info", "warn", "error"} {
		run := c.run("failure_log_level", "'"+level+"'")
		require.Equal(t, "FAILED ERROR", c.ends(run))
		want[run] = level
	}
	good := c.run("name, failure_log_level", "'good', 'error'")
	require.Equal(t, "DONE", c.ends(good))
	want[good] = "info"
	r.stop()

	got := map[int64]string{}
	for line := range bytes.Lines(log.Bytes()) {
		var l struct {
			Level, Message string
			RunID          int64 `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal(line, &l))
		if l.Message == "run ended" {
			got[l.RunID] = l.Level
		}
	}
	require.Equal(t, want, got)
}

// A replica that is asked to drain claims nothing from the commit on, ends what it runs, and then Run returns as after a stop.
func TestAReplicaThatIsAskedToDrainEndsWhatItRunsAndStops(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	r := startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "first" {
			<-release
		}
		return scheduler.Result{}, nil
	}, nil)
	c, s := newClient(t, url), openStore(t, url, time.Minute)
	status := func(run int64) string { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) }
	first := c.run("name", "'first'")
	poll(t, "the start", func() bool { return status(first) == "RUNNING" })

	ids, err := s.AskDrain(t.Context(), "test")
	require.NoError(t, err)
	require.Equal(t, []string{r.Status().ReplicaID}, ids)
	second := c.run("name", "'second'")
	poll(t, "the drain", func() bool { return r.Status().Draining })
	require.Equal(t, "RUNNING", status(first), "it has its time")
	close(release)
	ended := <-r.done
	r.done <- ended
	require.NoError(t, ended)
	require.Equal(t, "DONE", status(first))
	require.Equal(t, "AVAILABLE", status(second))
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.replica_heartbeat`), "it has left")
	_, err = s.AskDrain(t.Context(), "test")
	require.ErrorIs(t, err, store.ErrNoReplica)

	startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }, nil)
	require.Equal(t, "DONE", c.ends(second), "one of the same name is another one")
}
