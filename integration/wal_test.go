package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const (
	logWrites  = "this replica writes the stream"
	logFromWAL = "inserts are seen in the write-ahead log"
)

// scribe is a replica whose stream is kept.
type scribe struct {
	*replica
	path string
}

func launchScribe(t *testing.T, url string, args ...[]string) *scribe {
	t.Helper()
	s := &scribe{path: filepath.Join(t.TempDir(), "stream")}
	out, err := os.Create(s.path)
	require.NoError(t, err)
	all := slices.Concat(append([][]string{{"serve", "--http-addr", "off"}}, args...)...)
	s.replica = &replica{cmd: exec.Command(program.path, all...), exited: make(chan struct{})} //nolint:noctx // killed by cleanup
	s.cmd.Env = append(environment(), "DATABASE_URL="+url)
	s.cmd.Stdout = out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	started := make(chan error)
	go func() {
		defer close(s.exited)
		runtime.LockOSThread() // the kernel's signal goes by the thread that forked
		err := s.cmd.Start()
		_ = out.Close()
		started <- err
		if err == nil {
			s.log.follow(log)
			_ = s.cmd.Wait()
		}
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		select {
		case <-s.exited:
		default:
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
		if t.Failed() {
			t.Logf("log of process %d:\n%s", s.cmd.Process.Pid, s.log.tail())
		}
	})
	return s
}

// written are the transitions that it wrote, without repeats, and the reasons of its gaps. A last line that a kill has
// torn was never confirmed.
func (s *scribe) written(t *testing.T) (transitions, gaps []string) {
	t.Helper()
	text, err := os.ReadFile(s.path)
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var l struct {
			Event, To, Reason string
			RunID             int64 `json:"run_id"`
			From, LSN         *string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		if l.Event == "stream.gap" {
			gaps = append(gaps, l.Reason)
			continue
		}
		if l.LSN == nil {
			continue // told by rows, behind a gap
		}
		from := "null"
		if l.From != nil {
			from = *l.From
		}
		// What is dropped as a repeat: the same (lsn, run_id, to).
		key := fmt.Sprintf("%s %d %s", *l.LSN, l.RunID, l.To)
		if !seen[key] {
			seen[key] = true
			transitions = append(transitions, fmt.Sprintf("%s %d %s %s", *l.LSN, l.RunID, from, l.To))
		}
	}
	return transitions, gaps
}

// users insert, cancel and retry at random until stopped; whatever an outage refuses is tried another time.
func users(t *testing.T, d *database, rng *rand.Rand) (stop func()) {
	t.Helper()
	tasks := []int64{
		d.task(t, "NOOP", `{}`, nil),
		d.task(t, "NOOP", `{"fail": "on purpose"}`, columns{"max_attempts": 2, "retry_delay": "0"}),
		d.task(t, "NOOP", `{"sleep": "20ms"}`, nil),
		d.task(t, "NOBODY", `{}`, nil),
	}
	config, err := pgxpool.ParseConfig(d.url)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 3 {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1)) //nolint:gosec // not a secret
		wg.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				step, done := context.WithTimeout(ctx, 2*time.Second)
				switch own.IntN(6) {
				case 0:
					_, _ = pool.Exec(step, "SELECT rowrun.cancel_run(max(id)) FROM rowrun.task_run WHERE task_id = $1", tasks[3])
				case 1:
					_, _ = pool.Exec(step, "INSERT INTO rowrun.task_run (task_id) SELECT unnest($1::bigint[])", tasks)
				case 2:
					_, _ = pool.Exec(step, "SELECT rowrun.retry_run(max(id)) FROM rowrun.task_run WHERE task_id = $1 AND status = 'FAILED'", tasks[1])
				default:
					_, _ = pool.Exec(step, "INSERT INTO rowrun.task_run (task_id) VALUES ($1)", tasks[own.IntN(len(tasks))])
				}
				done()
			}
		})
	}
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		pool.Close()
	})
}

// writer is the replica that writes, once there is one.
func writer(t *testing.T, d *database, all []*scribe) *scribe {
	t.Helper()
	var found *scribe
	eventually(t, patience, "somebody writes the stream from the log", func() bool {
		var id string
		err := d.pool.QueryRow(t.Context(), `SELECT stream_replica_id FROM rowrun.deployment d
			JOIN pg_replication_slots s ON s.slot_name = 'rowrun_stream_' || left(d.id::text, 8) AND s.active`).Scan(&id)
		if err != nil {
			return false
		}
		for _, s := range all {
			for _, e := range s.log.find(logStarted) {
				if e.ReplicaID == id {
					found = s
				}
			}
		}
		return found != nil
	})
	return found
}

func TestStreamEqualsTheLogWhateverIsKilled(t *testing.T) {
	t.Parallel()
	cluster, rng := storetest.OwnCluster(t), chance(t)
	d := openDatabase(t, storetest.On(t, cluster))
	d.exec(t, "ALTER SYSTEM SET max_slot_wal_keep_size = '4GB'")
	d.exec(t, "SELECT pg_reload_conf()")
	truth := newOracle(t, d)
	lease := []string{"--heartbeat-interval", "1s", "--stale-after", "10s", "--stale-sweep-interval", "1s"}
	var all, alive []*scribe
	start := func() {
		s := launchScribe(t, d.url, lease)
		all, alive = append(all, s), append(alive, s)
	}
	start()
	start()
	writer(t, d, alive).log.await(t, 1, logFromWAL) // a slot doesn't see what was before it
	stop := users(t, d, rng)
	defer stop()

	for range storetest.Count(6, 50) {
		w := writer(t, d, alive)
		before := ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run")
		if rng.IntN(2) == 0 {
			w.kill(t)
			killed := time.Now()
			alive = slices.DeleteFunc(alive, func(s *scribe) bool { return s == w })
			next := writer(t, d, alive)
			require.NotSame(t, w, next)
			require.Less(t, time.Since(killed), 15*time.Second)
			start()
		} else {
			cluster.Kill()
			require.NoError(t, cluster.Restart(t.Context()))
			d.pool.Reset()
			writer(t, d, alive)
		}
		eventually(t, patience, "more runs", func() bool {
			var n int64
			err := d.pool.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.task_run").Scan(&n)
			return err == nil && n > before+20
		})
	}
	stop()
	eventually(t, patience, "the end of all that somebody runs", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND type = 'NOOP'") == 0
	})
	writer(t, d, alive)
	expected := truth.transitions(t)
	eventually(t, patience, "the last lines", func() bool {
		return confirmed(t, d)
	})
	for _, s := range alive {
		s.signal(t, syscall.SIGTERM)
		require.Zero(t, s.wait(t))
	}

	place := map[string]int{}
	for i, transition := range expected {
		place[transition] = i
	}
	require.Len(t, place, len(expected))
	told := map[string]bool{}
	for _, s := range all {
		transitions, gaps := s.written(t)
		require.Empty(t, gaps, "none is due")
		last := -1
		for _, transition := range transitions {
			at, known := place[transition]
			require.True(t, known, "%s never happened", transition)
			require.Greater(t, at, last, "%s out of order", transition)
			last = at
			told[transition] = true
		}
	}
	for _, transition := range expected {
		require.True(t, told[transition], "%s is missing", transition)
	}
	t.Logf("%d transitions, %d processes", len(expected), len(all))
}

// confirmed says that all that is in the log now was written.
func confirmed(t *testing.T, d *database) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var end string
	require.NoError(t, d.pool.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&end))
	var there bool
	for deadline := time.Now().Add(2 * time.Second); !there && time.Now().Before(deadline); {
		require.NoError(t, d.pool.QueryRow(ctx, `SELECT s.confirmed_flush_lsn >= $1::text::pg_lsn FROM pg_replication_slots s, rowrun.deployment d
			WHERE s.slot_name = 'rowrun_stream_' || left(d.id::text, 8)`, end).Scan(&there))
	}
	return there
}

// The slot is dropped under the one that reads it: one gap, with its reason; what happened meanwhile is told by the
// rows, and the log goes on.
func TestDroppedSlotIsOneGap(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := launchScribe(t, d.url, []string{"--stream-source", "wal"})
	s.log.await(t, 1, logFromWAL)
	code, out := rowrun(t, []string{"DATABASE_URL=" + d.url}, "stream", "drop-slot")
	require.Equal(t, 1, code)
	require.Contains(t, out, "is in use")

	d.exec(t, `DO $$
DECLARE slot text := (SELECT 'rowrun_stream_' || left(id::text, 8) FROM rowrun.deployment);
BEGIN
    LOOP
        PERFORM pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = slot AND active;
        BEGIN
            PERFORM pg_drop_replication_slot(slot);
            EXIT;
        EXCEPTION WHEN object_in_use THEN PERFORM pg_sleep(0.01);
        END;
    END LOOP;
END $$`)
	during := d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	eventually(t, patience, "a gap", func() bool {
		_, gaps := s.written(t)
		return len(gaps) > 0
	})
	after := d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	lines := func(id int64) (statuses []string) {
		file, err := os.Open(s.path)
		require.NoError(t, err)
		defer func() { _ = file.Close() }()
		for scan := bufio.NewScanner(file); scan.Scan(); {
			var l struct {
				RunID int64 `json:"run_id"`
				To    string
			}
			require.NoError(t, json.Unmarshal(scan.Bytes(), &l))
			if l.RunID == id {
				statuses = append(statuses, l.To)
			}
		}
		return statuses
	}
	all := []string{"PENDING", "AVAILABLE", "RUNNING", "DONE"}
	eventually(t, patience, "the lines after it", func() bool { return len(lines(after.ID)) >= 4 })
	require.Equal(t, all, lines(after.ID))
	require.Equal(t, all, lines(during.ID))
	_, gaps := s.written(t)
	require.Equal(t, []string{"the replication slot was missing"}, gaps)

	s.signal(t, syscall.SIGTERM)
	require.Zero(t, s.wait(t))
	code, out = rowrun(t, []string{"DATABASE_URL=" + d.url}, "stream", "drop-slot")
	require.Zero(t, code, out)
	require.Contains(t, out, "dropped")
}
