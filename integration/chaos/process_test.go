package chaos_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is one rowrun serve. Its stream and its log are files, which a kill leaves as they are.
type process struct {
	cmd      *exec.Cmd
	exited   chan struct{}
	out, log string
	frozen   []span // when it was stopped
}

type span struct{ from, to time.Time }

func (s span) meets(o span) bool { return s.from.Before(o.to) && o.from.Before(s.to) }

func start(t *testing.T, dir string, n int, url string, variables []string, args ...string) *process {
	t.Helper()
	p := &process{exited: make(chan struct{}), out: filepath.Join(dir, fmt.Sprintf("%d.out", n)), log: filepath.Join(dir, fmt.Sprintf("%d.log", n))}
	out, err := os.Create(p.out)
	require.NoError(t, err)
	log, err := os.Create(p.log)
	require.NoError(t, err)
	p.cmd = exec.Command(program, append([]string{"serve", "--http-addr", "off"}, args...)...) //nolint:noctx // ended by the rig
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/", "HOSTNAME=chaos", "DATABASE_URL=" + url}, variables...)
	p.cmd.Stdout, p.cmd.Stderr = out, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer close(p.exited)
		runtime.LockOSThread() // the kernel's signal goes by the thread that forked
		err := p.cmd.Start()
		_ = out.Close()
		_ = log.Close()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	require.NoError(t, <-started)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// ids are those that the process had, one after another.
func (p *process) ids() []string {
	var ids []string
	p.lines(p.log, func(line map[string]any) {
		if line["message"] == "heartbeat started" {
			id, _ := line["replica_id"].(string)
			ids = append(ids, id)
		}
	})
	return ids
}

// lines reads JSON lines; the last one of a killed process may be half of one.
func (p *process) lines(path string, each func(map[string]any)) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := map[string]any{}
		if json.Unmarshal(scan.Bytes(), &line) == nil {
			each(line)
		}
	}
}

func (p *process) tail() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "")
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) wait(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		require.FailNow(t, "ends: a replica did not end", "within %s\n%s", within, p.tail())
	}
}

// kill proves that it was killed.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	p.wait(t, patience)
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the fault: killed")
}

// stop asks for its end, which must be a clean one.
func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.wait(t, patience)
	// One that just then learns that it was out of contact for too long says so.
	fenced := strings.Contains(p.tail(), "no heartbeat could be written for two thirds of the lease")
	require.True(t, p.cmd.ProcessState.ExitCode() == 0 || fenced, "ends: a clean stop, and not %s\n%s", p.cmd.ProcessState, p.tail())
}

// freeze stops it in the middle of whatever it does, and proves it.
func (p *process) freeze(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	until(t, patience, "the fault: process state T", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		end := bytes.LastIndexByte(stat, ')')
		return err == nil && end > 0 && end+2 < len(stat) && stat[end+2] == 'T'
	})
	p.frozen = append(p.frozen, span{time.Now(), time.Now().Add(time.Hour)})
}

func (p *process) thaw(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	p.frozen[len(p.frozen)-1].to = time.Now()
}
