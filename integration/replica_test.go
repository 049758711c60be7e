package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Messages of the log that tests wait for.
const (
	logStarted   = "heartbeat started"
	logListening = "listening for notifications"
	logDeaf      = "not listening for notifications; trying again"
	logFenced    = "replica fenced itself, its runs are stopped"
	logStale     = "stale runs failed"
	logWaiting   = "database not reachable yet, waiting for it"
)

// rareSweeps leave everything to the wake-ups, quickLease makes a silent replica dead within seconds: its lease is
// 3 s, it fences itself after 2 s.
func rareSweeps() []string { return []string{"--sweep-interval", "10m"} }

func quickLease() []string {
	return []string{"--heartbeat-interval", "500ms", "--stale-after", "3s", "--stale-sweep-interval", "500ms"}
}

// replica is a process: rowrun serve.
type replica struct {
	log    journal
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has been reaped
	meant  bool          // the test has asked for its end
}

// launch starts a replica without waiting for anything. It is killed when the test ends.
func launch(t *testing.T, url string, args ...[]string) *replica {
	t.Helper()
	return launchWith(t, url, nil, args...)
}

// launchWith is launch with these variables too.
func launchWith(t *testing.T, url string, variables []string, args ...[]string) *replica {
	t.Helper()
	all := slices.Concat(append([][]string{{"serve", "--http-addr", "off"}}, args...)...)
	cmd := exec.Command(program.path, all...) //nolint:noctx // killed by cleanup
	cmd.Env = append(append(environment(), "DATABASE_URL="+url), variables...)
	return spawn(t, cmd)
}

// spawn starts a process whose log is its standard error. It is killed when the test ends.
func spawn(t *testing.T, cmd *exec.Cmd) *replica {
	t.Helper()
	r := &replica{cmd: cmd, exited: make(chan struct{})}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := r.cmd.StderrPipe()
	require.NoError(t, err)
	started := make(chan error)
	go func() {
		defer close(r.exited)
		runtime.LockOSThread() // the kernel's signal goes by the thread that forked
		err := r.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		r.log.follow(log)
		_ = r.cmd.Wait() // how it ended is in ProcessState
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		select {
		case <-r.exited:
			if !r.meant {
				t.Errorf("process %d ended by itself: %s", r.cmd.Process.Pid, r.cmd.ProcessState)
			}
		default:
			_ = r.cmd.Process.Kill()
			<-r.exited
		}
		if t.Failed() {
			t.Logf("log of process %d:\n%s", r.cmd.Process.Pid, r.log.tail())
		}
	})
	return r
}

// serve starts a replica and waits until it has registered and hears notifications.
func serve(t *testing.T, url string, args ...[]string) *replica {
	t.Helper()
	r := launch(t, url, args...)
	eventually(t, patience, "a replica that serves", func() bool {
		select {
		case <-r.exited:
			require.FailNow(t, "serve ended", "%s", r.log.tail())
		default:
		}
		return len(r.log.find(logStarted)) > 0 && len(r.log.find(logListening)) > 0
	})
	return r
}

// environment is what a process gets: nothing of ROWRUN_* or PG*, but for what make test-unbatched and test-two-steps set.
func environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "HOSTNAME=test"}
	for _, name := range []string{"ROWRUN_MAX_BATCH", "ROWRUN_TWO_STEPS"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// id is the replica's id, the one it had first.
func (r *replica) id(t *testing.T) string {
	t.Helper()
	return r.log.await(t, 1, logStarted).ReplicaID
}

func (r *replica) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(sig))
}

// kill ends the process as a crash would, and proves that it is gone.
func (r *replica) kill(t *testing.T) {
	t.Helper()
	r.signal(t, syscall.SIGKILL)
	r.wait(t)
	status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the fault: killed by SIGKILL")
}

// freeze stops the process in the middle of whatever it does, and proves it.
func (r *replica) freeze(t *testing.T) {
	t.Helper()
	r.signal(t, syscall.SIGSTOP)
	eventually(t, patience, "the fault: process state T", func() bool { return processState(r.cmd.Process.Pid) == 'T' })
}

// wait returns the exit code.
func (r *replica) wait(t *testing.T) int {
	t.Helper()
	r.meant = true
	select {
	case <-r.exited:
	case <-time.After(patience):
		_ = r.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines go to its log
		select {
		case <-r.exited:
		case <-time.After(5 * time.Second):
		}
		require.FailNow(t, "the process did not end", "it said:\n%s", r.log.tail())
	}
	return r.cmd.ProcessState.ExitCode()
}

// processState is the letter of /proc/PID/stat, 0 where there is no such process.
func processState(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(stat, ')') // the name before it may hold anything
	if err != nil || end < 0 || end+2 >= len(stat) {
		return 0
	}
	return stat[end+2]
}

// rowrun runs one command to its end.
func rowrun(t *testing.T, variables []string, args ...string) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program.path, args...)
	cmd.Env = append(environment(), variables...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "rowrun %v did not end: %s", args, out)
	return cmd.ProcessState.ExitCode(), string(out)
}
