//go:build linux

package cmdexec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// superviseArg is the only argument of a supervisor.
const superviseArg = "__rowrun_supervise"

// MaybeSupervise must be the first call in main, and in TestMain of tests that
// execute commands: it returns at once unless this process was started to be a
// supervisor, and then never.
func MaybeSupervise() {
	if len(os.Args) != 2 || os.Args[1] != superviseArg {
		return
	}
	control, status := os.NewFile(3, "control"), os.NewFile(4, "status")
	keepFromCommand()
	var s spec
	dec := json.NewDecoder(control)
	if err := dec.Decode(&s); err != nil {
		// An end of the pipe says that the sidecar has changed its mind, or died.
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			fmt.Fprintln(os.Stderr, "rowrun: this command is only for the sidecar itself")
		}
		os.Exit(2)
	}
	told := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control)
		close(told)
	}()
	// Nobody may be left to hear it.
	_ = json.NewEncoder(status).Encode(superviseCommand(s, told))
	os.Exit(0)
}

// superviseCommand runs the command until it and all that it started are gone. told is
// closed when the sidecar wants that now, or is dead.
func superviseCommand(s spec, told <-chan struct{}) report {
	// Pdeathsig goes by the thread that forked.
	runtime.LockOSThread()
	// The supervisor outlives what ends the sidecar. Caught signals are back to
	// their default in the command; ignored ones would stay ignored there.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGCHLD)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{Ended: true, StartError: errnoOf(err)}
	}
	pid, err := syscall.ForkExec(s.Path, s.Argv, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return report{Ended: true, StartError: errnoOf(err)}
	}
	t := tree{leader: pid, changed: changed}
	end := report{Ended: true, Stopped: !t.wait(told)}
	end.Left = t.end(time.Duration(s.GraceMS) * time.Millisecond)
	if t.ended && t.status.Signaled() {
		end.Signal = t.status.Signal()
	} else if t.ended {
		end.Exit = t.status.ExitStatus()
	}
	return end
}

// keepFromCommand closes all but the standard files on exec: the two pipes, and
// what the sidecar itself was started with.
func keepFromCommand() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil { // without /proc the pipes at least
		unix.CloseOnExec(3)
		unix.CloseOnExec(4)
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.EIO
}
