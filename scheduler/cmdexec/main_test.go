//go:build linux

package cmdexec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// sidecarScript makes a process of this binary a sidecar that executes the named
// script and waits for it, to be killed by a test.
const sidecarScript = "ROWRUN_TEST_SIDECAR_SCRIPT"

func TestMain(m *testing.M) {
	MaybeSupervise()
	if script := os.Getenv(sidecarScript); script != "" {
		os.Exit(sidecar(script))
	}
	goleak.VerifyTestMain(m)
}

func sidecar(script string) int {
	e, err := New(Config{Commands: map[string]Command{"c": {Path: script}}, Grace: 100 * time.Millisecond})
	if err == nil {
		_, err = e.Execute(context.Background(), (&recorder{}).run(`{"command":"c"}`))
	}
	fmt.Fprintln(os.Stderr, "the command ended:", err)
	return 1
}

// recorder keeps what a run logs.
type recorder struct {
	mu   sync.Mutex
	rows []map[string]any
	hold chan struct{} // where not nil, each row waits for it
}

func (r *recorder) run(payload string) *scheduler.Run {
	return &scheduler.Run{ID: 7, RootID: 5, Attempt: 2, Claim: "the claim", Payload: json.RawMessage(payload), Log: r.log}
}

func (r *recorder) log(ctx context.Context, kind string, detail any) error {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	row := map[string]any{}
	if err := json.Unmarshal(b, &row); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	row["kind"] = kind
	r.rows = append(r.rows, row)
	return nil
}

func (r *recorder) logged() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]map[string]any(nil), r.rows...)
}

// text is all output rows put together.
func (r *recorder) text() string {
	var b strings.Builder
	for _, row := range r.logged() {
		s, _ := row["text"].(string)
		b.WriteString(s)
	}
	return b.String()
}

// script writes a shell script that nobody is writing to any more when it is executed.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	storetest.WriteProgram(t, path, "#!/bin/sh\n"+body+"\n")
	return path
}

// executor makes one of one command, named c.
func executor(t *testing.T, c Command, grace time.Duration) *Executor {
	t.Helper()
	e, err := New(Config{Commands: map[string]Command{"c": c}, Grace: grace})
	require.NoError(t, err)
	return e
}

func failure(t *testing.T, err error) *scheduler.Failure {
	t.Helper()
	var f *scheduler.Failure
	require.ErrorAs(t, err, &f)
	return f
}

// pids waits until the command has written n process ids, one per line.
func pids(t *testing.T, file string, n int) []int {
	t.Helper()
	var found []int
	require.Eventually(t, func() bool {
		found = nil
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && strings.HasSuffix(line, "\n") {
				found = append(found, pid)
			}
		}
		return len(found) == n
	}, 20*time.Second, 10*time.Millisecond)
	return found
}

// state is a process's state as ps shows it, "" where it is gone.
func state(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) == 0 {
		return ""
	}
	return string(fields[0])
}

// alive is true for a process that is there and no zombie.
func alive(pid int) bool { s := state(pid); return s != "" && s != "Z" }

func requireGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.False(t, alive(pid), "process %d is left", pid)
	}
}
