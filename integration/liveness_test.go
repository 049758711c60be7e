package integration_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A lease of one second, the shortest there is.
func shortestLease() []string {
	return []string{"--heartbeat-interval", "333ms", "--stale-after", "1s", "--stale-sweep-interval", "200ms"}
}

// commandFile is a configuration with one command, named c, that is a shell script.
func commandFile(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "command")
	storetest.WriteProgram(t, path, "#!/bin/sh\n"+body+"\n")
	return configFile(t, "commands: {c: {path: "+path+"}}")
}

func TestKilledReplicaIsFoundWithinSecondsWithTheShortestLease(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	doomed := serve(t, d.url, shortestLease(), w.app())
	first := d.job(t, "HTTP", `{"path": "/wait"}`, columns{"on_stale": "CANCEL"})
	w.await(t, first)
	serve(t, d.url, shortestLease(), w.app())
	doomed.kill(t)
	killed := d.now(t)
	lost := d.await(t, first, "CANCELED")
	require.Equal(t, "STALE", lost.Code)
	took := lost.FinishedAt.Sub(killed)
	t.Logf("kill to the end of its run: %s", took)
	require.Less(t, took, 20*time.Second, "the defaults need more")
}

// A run that takes its replica along each time, whoever runs it, is given up after five recoveries; others go on.
func TestRunThatKillsItsReplicasIsGivenUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	// The command's parent is its supervisor, whose parent is the replica.
	file := commandFile(t, `read -r _ _ _ replica _ < /proc/$PPID/stat; kill -KILL "$replica"; sleep 60`)
	id := d.job(t, "COMMAND", `{"command": "c"}`, columns{"on_stale": "RETRY"})
	root := id
	for attempt := range 6 {
		r := launch(t, d.url, shortestLease(), file)
		require.Equal(t, -1, r.wait(t), "attempt %d: the replica is killed", attempt)
	}
	serve(t, d.url, shortestLease(), file)
	eventually(t, patience, "the end of the chain", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status = 'FAILED' AND result ->> 'code' = 'STALE'") == 6
	})
	require.EqualValues(t, 6, ask[int64](t, d, "SELECT attempts FROM rowrun.job"))
	require.Equal(t, root, ask[int64](t, d, "SELECT root_id FROM rowrun.failed_run"))
	d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
}

// What a command reports keeps it alive, and one that reports nothing is ended and announced on the stream.
func TestCommandsProgressIsHeard(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	launch(t, d.url, commandFile(t, `if [ "$ROWRUN_RUN_ID" = 1 ]; then
  for i in 1 2 3 4 5 6 7 8; do echo "rowrun:progress {\"step\": $i}"; sleep 0.4; done
else sleep 60; fi`))
	task := d.task(t, "COMMAND", `{"command": "c"}`, columns{"progress_timeout": "1500 ms"})
	insert := func() int64 {
		return ask[int64](t, d, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task)
	}
	reports, hangs := insert(), insert()
	require.EqualValues(t, 1, reports)
	d.await(t, reports, "DONE")
	require.Equal(t, `{"step": 8}`, ask[string](t, d, "SELECT progress::text FROM rowrun.task_run WHERE id = $1", reports))
	require.Equal(t, "PROGRESS_TIMEOUT", d.await(t, hangs, "FAILED").Code)
	eventually(t, patience, "the line", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_run.stalled' AND printed_at IS NOT NULL") == 1
	})
}
