package sqlexec_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMessagesOfATargetAreBounded(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	x := executor(t, sqlexec.Target{URL: url})
	for name, sql := range map[string]string{
		"row":    "SELECT 1; SELECT repeat('x', 200000000)",
		"error":  "SELECT 1; DO $$ BEGIN RAISE EXCEPTION '%', repeat('x', 50000000); END $$",
		"notice": "SELECT 1; DO $$ BEGIN RAISE NOTICE '%', repeat('x', 50000000); END $$",
	} {
		r := newRun(t, sql, true)
		_, err := x.Execute(t.Context(), r.Run)
		f := failure(t, err)
		require.Equal(t, scheduler.CodeBadInput, f.Code, name)
		require.False(t, f.Retryable, name)
		require.Contains(t, f.Detail, "statement 2 of 2", name)
		require.Contains(t, f.Detail, "at most 4194304 are accepted", name)
	}
	// What is shorter goes on being dropped.
	r := newRun(t, "SELECT repeat('x', 4000000) FROM generate_series(1, 5)", true)
	_, err := x.Execute(t.Context(), r.Run)
	require.NoError(t, err)
	for _, version := range []string{"1", "2"} {
		m := newRun(t, "SELECT repeat('x', 50000000)", version == "1")
		m.Version = version
		_, err := x.Migrate().Execute(t.Context(), m.Run)
		require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code)
	}
}

// As many runs as a replica has slots by default, with all kinds of large messages at once.
func TestTwentyRunsWithLargeMessagesStayBelowTheirBound(t *testing.T) { //nolint:paralleltest // measures the process
	url := storetest.Empty(t)
	x := executor(t, sqlexec.Target{URL: url})
	before := resident()
	require.Positive(t, before)
	most, stop := before, make(chan struct{})
	var watch, runs sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				most = max(most, resident())
			}
		}
	})
	texts := []string{
		"SELECT repeat('x', 200000000)",
		"SELECT repeat('x', 4000000) FROM generate_series(1, 20)",
		"DO $$ BEGIN FOR n IN 1..20 LOOP RAISE NOTICE '%', repeat('x', 4000000); END LOOP; END $$",
		"DO $$ BEGIN RAISE EXCEPTION '%', repeat('x', 50000000); END $$",
	}
	for i := range 20 {
		r := newRun(t, texts[i%len(texts)], true)
		runs.Go(func() { _, _ = x.Execute(t.Context(), r.Run) })
	}
	runs.Wait()
	close(stop)
	watch.Wait()
	t.Logf("held: %d MiB before, %d MiB at most", before>>20, most>>20)
	require.Less(t, most-before, int64(200<<20))
}

// resident is the memory that the Go runtime holds of the system's, in bytes: what the process takes in RAM but for its program and what the
// race detector keeps beside each word.
func resident() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased) //nolint:gosec // it fits
}
