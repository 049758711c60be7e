package integration_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const logLeft = "stream could not be written; it is left to the other replicas"

// told is what lines say of runs from one on: the transitions of each, without repeats.
func told(lines []line, from int64) map[int64]string {
	all, seen := map[int64]string{}, map[line]bool{}
	for _, l := range lines {
		key := line{RunID: l.RunID, To: l.To}
		if l.To != "" && l.RunID >= from && !seen[key] {
			seen[key] = true
			all[l.RunID] += l.To + " "
		}
	}
	return all
}

// work makes runs with long names in their lines, and waits for their end; it returns the first and the last.
func work(t *testing.T, d *database, n int) (first, last int64) {
	t.Helper()
	d.exec(t, `INSERT INTO rowrun.task (name, type) VALUES (repeat('n', 200), 'NOOP')
		ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO NOTHING`)
	ids := list[int64](t, d, `INSERT INTO rowrun.task_run (task_id)
		SELECT id FROM rowrun.task, generate_series(1, $1) WHERE name LIKE 'nn%' RETURNING id`, n)
	eventually(t, patience, "their end", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status <> 'DONE'") == 0
	})
	return ids[0], ids[len(ids)-1]
}

func requireAll(t *testing.T, first, last int64, lines func() []line) {
	t.Helper()
	eventually(t, patience, "every transition", func() bool {
		all := told(lines(), first)
		for id := first; id <= last; id++ {
			if all[id] != "PENDING AVAILABLE RUNNING DONE " {
				return false
			}
		}
		return true
	})
}

// awaitBegin is that of stream for one that a pipe gets: it reads what was told by then.
func awaitBegin(t *testing.T, d *database, pipe *os.File) {
	t.Helper()
	lines := bufio.NewReader(pipe)
	eventually(t, patience, "the stream has begun", func() bool {
		work(t, d, 1)
		require.NoError(t, pipe.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
		for {
			text, err := lines.ReadBytes('\n')
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return false
			}
			require.NoError(t, err)
			var l line
			if json.Unmarshal(text, &l) == nil && l.To == "DONE" { // but for one that a deadline has torn
				require.NoError(t, pipe.SetReadDeadline(time.Time{}))
				return true
			}
		}
	})
}

// `rowrun serve | head -1` goes on working, and another replica writes the stream.
func TestClosedOutputLeavesTheStreamToAnother(t *testing.T) { //nolint:paralleltest // a slow machine would be a slow reader
	for _, source := range []string{"wal", "listen"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			in, pipe, err := os.Pipe()
			require.NoError(t, err)
			defer func() { _ = in.Close() }()
			a := launchInto(t, d.url, pipe, []string{"--stream-source", source})
			a.log.await(t, 1, logWrites)
			awaitBegin(t, d, in)
			out := newStream(t)
			b := launchScribe(t, d.url, out, []string{"--stream-source", source})
			b.log.await(t, 1, logStarted)
			require.NoError(t, in.Close(), "the fault: nobody reads")
			first, last := work(t, d, 20)
			b.log.await(t, 1, logWrites)
			a.log.await(t, 1, logLeft)
			requireAll(t, first, last, func() []line { return out.lines(t) })
			first, last = work(t, d, 20)
			requireAll(t, first, last, func() []line { return out.lines(t) })
			_, gaps := out.written(t)
			if source == "wal" {
				require.Empty(t, gaps)
			}
			require.Equal(t, byte('S'), processStateOf(a.cmd.Process.Pid), "it lives")
			a.signal(t, syscall.SIGTERM)
			require.Zero(t, a.wait(t))
			b.signal(t, syscall.SIGTERM)
			require.Zero(t, b.wait(t))
		})
	}
}

// processStateOf takes running for sleeping.
func processStateOf(pid int) byte {
	if state := processState(pid); state != 'R' {
		return state
	}
	return 'S'
}

// A pipe that nobody reads: the process ends when it is told to, and before that another one takes the stream over.
func TestBlockedOutputIsHandedOverAndHoldsUpNoStop(t *testing.T) { //nolint:paralleltest // a slow machine would be a slow reader
	for _, source := range []string{"wal", "listen"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			in, pipe, err := os.Pipe()
			require.NoError(t, err)
			defer func() { _ = in.Close() }()
			a := launchInto(t, d.url, pipe, []string{"--stream-source", source, "--drain-timeout", "2s"})
			a.log.await(t, 1, logWrites)
			awaitBegin(t, d, in)
			out := newStream(t)
			b := launchScribe(t, d.url, out, []string{"--stream-source", source})
			b.log.await(t, 1, logStarted)
			first, last := work(t, d, 100) // more than a pipe holds
			a.log.await(t, 1, logLeft)
			b.log.await(t, 1, logWrites)
			a.signal(t, syscall.SIGTERM)
			asked := time.Now()
			require.Zero(t, a.wait(t))
			require.Less(t, time.Since(asked), 7*time.Second)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			var before []line
			for one := range strings.Lines(string(text)) {
				var l line
				if json.Unmarshal([]byte(one), &l) == nil { // but for the last, which is torn
					before = append(before, l)
				}
			}
			require.NotEmpty(t, before)
			requireAll(t, first, last, func() []line { return append(before, out.lines(t)...) })
			_, gaps := out.written(t)
			require.LessOrEqual(t, len(gaps), map[string]int{"wal": 0, "listen": 1}[source], "%v", gaps)
		})
	}
}

// It is told to stop at once when its output is blocked.
func TestBlockedOutputKeepsNoProcess(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	in, pipe, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	a := launchInto(t, d.url, pipe, []string{"--drain-timeout", "2s"})
	a.log.await(t, 1, logWrites)
	awaitBegin(t, d, in)
	work(t, d, 100)
	a.signal(t, syscall.SIGTERM)
	asked := time.Now()
	require.Zero(t, a.wait(t))
	require.Less(t, time.Since(asked), 7*time.Second)
}

// Whoever reads the log, or doesn't: runs end, and so does the process when it is told to.
func TestLogThatNobodyReadsHoldsNothingUp(t *testing.T) { //nolint:paralleltest // a slow machine would be a slow reader
	for _, fault := range []string{"closed", "blocked"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			in, pipe, err := os.Pipe()
			require.NoError(t, err)
			defer func() { _ = in.Close() }()
			cmd := exec.Command(program.path, "serve", "--http-addr", "off", "--log-level", "debug", "--stream-source", "off", "--drain-timeout", "2s") //nolint:noctx // killed below
			cmd.Env = append(environment(), "DATABASE_URL="+d.url)
			cmd.Stderr = pipe
			require.NoError(t, cmd.Start())
			defer func() { _ = cmd.Process.Kill() }()
			require.NoError(t, pipe.Close())
			if fault == "closed" {
				require.NoError(t, in.Close())
			}
			for range 5 {
				work(t, d, 200) // each logs two lines
			}
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				require.NoError(t, err)
			case <-time.After(patience):
				require.Fail(t, "it did not end")
			}
		})
	}
}
