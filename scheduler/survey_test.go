package scheduler_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// calls counts the executions of a statement by its name.
func calls(log *storetest.Log, statement string) int {
	return strings.Count(log.From(0), ": -- "+statement+"\n")
}

// Ten sweeps with nothing to find are ten trips of a statement or two, and now and then one more. A survey that comes late has the loops
// look for themselves, which this machine may bring about, but not ten times.
func TestAnIdleReplicaMakesOneTripASweep(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	c := newClient(t, url)
	c.exec(`ALTER DATABASE ` + c.text(`SELECT current_database()`) + ` SET log_statement = 'all'`)
	startReplica(t, url, untilTold, func(config *scheduler.Config) { config.SweepInterval = 300 * time.Millisecond })
	poll(t, "ten sweeps", func() bool { return calls(log, "survey") >= 10 })
	require.Positive(t, calls(log, "promote"), "the first sweep is a whole one; nothing is tested where it isn't seen")
	for _, statement := range []string{"promote", "claim_runs", "overdue_runs", "claim_rules"} {
		require.LessOrEqual(t, calls(log, statement), 5, statement)
	}
}

// Where nothing wakes it, a replica finds everything within a sweep all the same.
func TestSweepsAloneFindWhatIsInserted(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	surveys := make(chan struct{}, 1)
	startReplica(t, url, executorFunc(func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }),
		func(config *scheduler.Config) {
			config.SweepInterval = 100 * time.Millisecond
			config.Wake, config.Available, config.Ended = nil, nil, nil
			config.Surveyed = func(store.Survey) { hint(surveys) }
		})
	<-surveys // the first sweep, which is a whole one
	<-surveys
	require.Equal(t, "DONE", c.ends(c.run("name", "'plain'")))
	c.exec(`INSERT INTO rowrun.plan (id) VALUES (1)`)
	require.Equal(t, "DONE", c.ends(c.run("plan_id", "1")))
	require.Equal(t, "DONE", c.ends(c.run("database_id, version", "'d', '1'")))
	poll(t, "the event of the plan", func() bool { return c.int(`SELECT announced_round FROM rowrun.plan`) == 1 })
}
