package integration_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// processTime is the CPU time that a process has used.
func processTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, at := range []int{11, 12} { // utime, stime
		n, err := strconv.Atoi(fields[at])
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// flood sends notifications of each kind in turn, as near to 10,000 a second as the machine allows, until ctx ends.
func flood(ctx context.Context, t *testing.T, url string, sent *atomic.Int64) {
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for round := 0; ctx.Err() == nil; round++ {
		_, err := conn.Exec(context.WithoutCancel(ctx), `SELECT pg_notify('rowrun_task_run', CASE n % 5
			WHEN 0 THEN '[]'
			WHEN 1 THEN 'junk ' || $1::int || ' ' || n || repeat('[', 500)
			WHEN 2 THEN format('[{"run_id":%s,"task_id":1,"plan_id":null,"from":"PENDING","to":"AVAILABLE","attempt":%s,"replica_id":null}]', n, $1::int)
			WHEN 3 THEN format('[{"run_id":%s,"task_id":1,"plan_id":7,"from":"RUNNING","to":"FAILED","attempt":%s,"replica_id":"x"}]', n, $1::int)
			ELSE format('[{"run_id":%s,"task_id":1,"to":"DONE","attempt":%s}]', n, $1::int) END)
			FROM generate_series(1, 100) n`, round)
		if err != nil {
			t.Errorf("flood: %v", err)
			return
		}
		sent.Add(100)
		<-tick.C
	}
}

// 10,000 notifications a second that anybody could send: the stream tells the truth, runs start in time, and the replica
// has better things to do.
func TestFloodOfNotificationsCostsLittle(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	d := openDatabase(t, url)
	db := d.pool
	out := newStream(t)
	s := launchScribe(t, url, out, []string{"--stream-source", "listen", "--sweep-interval", "5s"})
	s.log.await(t, 1, logWrites)
	var task int64
	require.NoError(t, db.QueryRow(t.Context(), "INSERT INTO rowrun.task (name, type) VALUES ('flooded', 'NOOP') RETURNING id").Scan(&task))
	run := func() (id int64, took time.Duration) {
		began := time.Now()
		require.NoError(t, db.QueryRow(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", task).Scan(&id))
		eventually(t, patience, "its end", func() bool {
			var done bool
			require.NoError(t, db.QueryRow(t.Context(), "SELECT status = 'DONE' FROM rowrun.task_run WHERE id = $1", id).Scan(&done))
			return done
		})
		return id, time.Since(began)
	}
	of := func(id int64) (lines []string) {
		for _, l := range out.lines(t) {
			if l.RunID == id {
				lines = append(lines, l.To)
			}
		}
		return lines
	}
	earliest, _ := run()
	out.awaitBegin(t, func() { run() }, func(l line) bool { return l.To == "DONE" })
	first, _ := run()

	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	defer sending.Wait()
	defer stop()
	var sent atomic.Int64
	sending.Go(func() { flood(ctx, t, url, &sent) })
	eventually(t, patience, "the fault: it has begun", func() bool { return sent.Load() > 20000 })
	used, at, before := processTime(t, s.cmd.Process.Pid), time.Now(), sent.Load()
	last := first
	var slowest time.Duration
	for range 20 {
		id, took := run()
		last, slowest = id, max(slowest, took)
		<-time.After(250 * time.Millisecond)
	}
	elapsed := time.Since(at)
	cpu := float64(processTime(t, s.cmd.Process.Pid)-used) / float64(elapsed)
	t.Logf("%.0f notifications/s, %.1f %% of a core, slowest of 20 runs %s", float64(sent.Load()-before)/elapsed.Seconds(), 100*cpu, slowest)
	require.Less(t, slowest, 5*time.Second+time.Second, "the sweep interval")
	stop()
	sending.Wait()

	eventually(t, patience, "the last run in the stream", func() bool { return len(of(last)) == 4 })
	for id := first; id <= last; id++ {
		require.Equal(t, []string{"PENDING", "AVAILABLE", "RUNNING", "DONE"}, of(id))
	}
	for _, l := range out.lines(t) {
		require.True(t, l.RunID >= earliest && l.RunID <= last, "%+v", l)
	}
	s.meant = true
}
