package integration_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	logWrites  = "this replica writes the stream"
	logFromWAL = "inserts are seen in the write-ahead log"
)

// scribe is a replica whose stream goes to a file, behind what others have written there.
type scribe struct {
	*replica
	stream stream
}

// stream is a file with lines.
type stream string

func newStream(t *testing.T) stream { return stream(filepath.Join(t.TempDir(), "stream")) }

func launchScribe(t *testing.T, url string, to stream, args ...[]string) *scribe {
	t.Helper()
	out, err := os.OpenFile(string(to), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	s := launchInto(t, url, out, args...)
	s.stream = to
	return s
}

// launchInto has the stream go to a file that it closes here.
func launchInto(t *testing.T, url string, out *os.File, args ...[]string) *scribe {
	t.Helper()
	s := &scribe{}
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

// line is one of a stream, as far as tests look at it.
type line struct {
	Event, To, Reason string
	Shard             string
	RunID             int64 `json:"run_id"`
	From, LSN         *string
	LastLSN           string `json:"last_lsn"`
}

// lines are all that stand in the file. Of one that a kill has torn only what the next writer put behind it is whole.
func (s stream) lines(t *testing.T) (all []line) {
	t.Helper()
	text, err := os.ReadFile(string(s))
	require.NoError(t, err)
	for whole := range strings.Lines(string(text)) {
		if !strings.HasSuffix(whole, "\n") {
			break
		}
		whole = whole[strings.LastIndex(whole, `{"level":"`):]
		var l line
		require.NoError(t, json.Unmarshal([]byte(whole), &l), whole)
		all = append(all, l)
	}
	return all
}

// awaitBegin calls work, which runs something, until a line of it is there. A stream that has no place yet begins at what comes after
// its writer has looked: a moment after it has said that it writes.
func (s stream) awaitBegin(t *testing.T, work func(), tells func(line) bool) {
	t.Helper()
	eventually(t, patience, "the stream has begun", func() bool {
		work()
		<-time.After(100 * time.Millisecond)
		return slices.ContainsFunc(s.lines(t), tells)
	})
}

// written are the transitions that came from the log, without repeats, and the reasons of the gaps.
func (s stream) written(t *testing.T) (transitions, gaps []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, l := range s.lines(t) {
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

// of are the statuses that a run reached, as often as they were told.
func (s stream) of(t *testing.T, id int64) (statuses []string) {
	t.Helper()
	for _, l := range s.lines(t) {
		if l.RunID == id {
			statuses = append(statuses, l.To)
		}
	}
	return statuses
}
