package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

func quickSweeps(c *scheduler.Config) {
	c.SweepInterval, c.StaleSweepInterval = 50*time.Millisecond, 50*time.Millisecond
}

// While a type drains nothing of it is claimed, what runs may finish, and no live replica announces it; then it goes on.
func TestDrainedTypeIsNotClaimed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	release := make(chan struct{})
	startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		if run.TaskName == "first" {
			<-release
		}
		return scheduler.Result{}, nil
	}, quickSweeps)
	c, s := newClient(t, url), openStore(t, url, time.Minute)
	first := c.run("name", "'first'")
	poll(t, "the start", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, first) == "RUNNING" })

	require.NoError(t, s.DrainType(t.Context(), workType, true))
	poll(t, "that nobody claims it", func() bool {
		left, err := s.TypeLeft(t.Context(), workType)
		require.NoError(t, err)
		return left.Replicas == 0 && left.Running == 1
	})
	second := c.run("name", "'second'")
	poll(t, "the promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, second) == "AVAILABLE" })
	require.Equal(t, "NO_REPLICA", c.text(`SELECT cause FROM rowrun.waiting($1)`, second))
	close(release)
	require.Equal(t, "DONE", c.ends(first))
	require.Equal(t, "AVAILABLE", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, second))

	require.NoError(t, s.DrainType(t.Context(), workType, false))
	require.Equal(t, "DONE", c.ends(second))
}

// An alias has the new type's executor run the old one's rows, with its payload laid out anew.
func TestAliasRunsTheOldTypesRows(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	payloads := make(chan string, 1)
	startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		payloads <- run.Type + " " + string(run.Payload)
		return scheduler.Result{}, nil
	}, quickSweeps)
	c, s := newClient(t, url), openStore(t, url, time.Minute)
	task := c.int(`INSERT INTO rowrun.task (type, payload) VALUES ('OLD', '{"to": "x", "debug": true, "kept": 1}') RETURNING id`)
	run := c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	poll(t, "the promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, run) == "AVAILABLE" })
	require.NoError(t, s.AliasType(t.Context(), "OLD", workType, []byte(`{"to": "recipient", "debug": null, "absent": "x"}`)))
	require.Equal(t, "DONE", c.ends(run))
	require.Equal(t, `OLD {"kept":1,"recipient":"x"}`, <-payloads)

	require.NoError(t, s.AliasType(t.Context(), "OLD", "", nil))
	poll(t, "its end", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.replica_heartbeat WHERE 'OLD' = ANY (types)`) == 0
	})
}

// A limit of a type that nobody here runs most likely has a wrong name.
func TestLimitsOfTypesThatAreNotRunAreToldOf(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	require.NoError(t, openStore(t, url, time.Minute).AliasType(t.Context(), "OLD", workType, nil))
	said := make(chan string, 100)
	startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }, func(c *scheduler.Config) {
		c.TypeLimits = map[string]scheduler.TypeLimit{workType: {Concurrency: 1}, "OLD": {Concurrency: 1}, "NOBODYS": {Concurrency: 2}}
		c.Log = zerolog.New(storetest.Lines(said)).Level(zerolog.WarnLevel)
	})
	require.Contains(t, <-said, `"types":["NOBODYS"],"message":"limits of types that this replica doesn't run`)
}

// A rolling upgrade, both ways: a replica claims only what it knows, and rows of the other version wait for it.
func TestReplicasClaimOnlyWhatTheyKnow(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var wrong atomic.Int32
	only := func(name string) (executorFunc, func(*scheduler.Config)) {
		run := func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
			if run.Type != name {
				wrong.Add(1)
			}
			return scheduler.Result{}, nil
		}
		return run, func(c *scheduler.Config) {
			quickSweeps(c)
			c.Executors = map[string]scheduler.Executor{name: executorFunc(run)}
		}
	}
	c := newClient(t, url)
	insert := func(name string) int64 {
		task := c.int(`INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id`, name)
		return c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	}
	run, config := only("V1")
	old := startReplica(t, url, run, config)
	require.Equal(t, "DONE", c.ends(insert("V1")))
	early := insert("V2") // the app is upgraded first
	poll(t, "the promotion", func() bool { return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, early) == "AVAILABLE" })
	run, config = only("V2")
	startReplica(t, url, run, config)
	require.Equal(t, "DONE", c.ends(early))
	require.Equal(t, "DONE", c.ends(insert("V1")), "both at once")
	old.stop()
	late := insert("V1") // an app that lags behind
	poll(t, "the promotion", func() bool {
		return c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, late) == "AVAILABLE"
	})
	require.Equal(t, "DONE", c.ends(insert("V2")))
	require.Equal(t, "AVAILABLE", c.text(`SELECT status FROM rowrun.task_run WHERE id = $1`, late))
	require.Zero(t, wrong.Load())

	// Nobody is left for it: that is said once, also by several replicas, and again when somebody comes.
	run, config = only("V2")
	startReplica(t, url, run, config)
	poll(t, "the warning", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.stream_note WHERE detail ->> 'type' = 'V1'`) == 1
	})
	require.Equal(t, `warn task_type.orphaned V1 0 1`, c.text(`SELECT concat_ws(' ', level, event, detail ->> 'type', detail ->> 'pending', detail ->> 'available') FROM rowrun.stream_note WHERE detail ->> 'type' = 'V1'`))
	run, config = only("V1")
	startReplica(t, url, run, config)
	require.Equal(t, "DONE", c.ends(late))
	poll(t, "the end of it", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_type.served' AND detail ->> 'type' = 'V1'`) == 1
	})
	require.EqualValues(t, 2, c.int(`SELECT count(*) FROM rowrun.stream_note WHERE detail ->> 'type' = 'V1'`))
}
