package stream_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// fails gives a task a level, lets a run of it fail, and returns the levels of its lines.
func fails(t *testing.T, p *pgxpool.Pool, o *output, task int64, level string) (levels []string) {
	t.Helper()
	exec(t, p, "UPDATE rowrun.task SET failure_log_level = $2 WHERE id = $1", task, level)
	run := walk(t, p, task, "FAILED")
	eventually(t, "its end", func() bool { return len(o.of(t, run)) == 4 })
	for _, l := range o.of(t, run) {
		levels = append(levels, l.Level)
	}
	return levels
}

// The line of a failure has its task's level, from rows and from the log; all others have info.
func TestFailedLineHasTheTasksLevel(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	rows := watch(t, url, nil)
	log := standByLog(t, url, "a", true)
	log.awaitSource(t, "wal")
	for _, level := range []string{"debug", "info", "warn", "error"} {
		id := task(t, p, level, "NOBODY")
		require.Equal(t, []string{"info", "info", "info", level}, fails(t, p, &rows.output, id, level))
		require.Equal(t, []string{"info", "info", "info", level}, fails(t, p, &log.output, id, level))
	}
	done := task(t, p, "done", "NOBODY")
	exec(t, p, "UPDATE rowrun.task SET failure_log_level = 'error' WHERE id = $1", done)
	run := walk(t, p, done, "DONE")
	eventually(t, "its end", func() bool { return len(rows.of(t, run)) == 4 && len(log.of(t, run)) == 4 })
	require.Equal(t, "info", rows.of(t, run)[3].Level)
	require.Equal(t, "info", log.of(t, run)[3].Level)
}

// What is read from the log remembers levels, but not for long.
func TestChangedLevelHoldsSoon(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	log := standByLog(t, url, "a", true)
	log.awaitSource(t, "wal")
	id := task(t, p, "changes its mind", "NOBODY")
	require.Equal(t, "warn", fails(t, p, &log.output, id, "warn")[3])
	deadline := time.Now().Add(patience)
	for fails(t, p, &log.output, id, "error")[3] != "error" {
		require.True(t, time.Now().Before(deadline), "the change never held")
	}
}
