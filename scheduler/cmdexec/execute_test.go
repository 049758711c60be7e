//go:build linux

package cmdexec

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func TestCommandGetsItsArgumentsAndACleanEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := executor(t, Command{
		Path:  script(t, `printf '<%s>' "$@"; echo; pwd; readlink /proc/self/fd/0; ls /proc/self/fd | wc -w; exec env`),
		Args:  []string{"--day={day}", "{text}", "--", "{text}"},
		Types: map[string]string{"day": "date"},
		Env:   map[string]string{"REPORT": "a b", "LANG": "de_DE.UTF-8"},
		Dir:   dir,
	}, 0)
	r := &recorder{}
	res, err := e.Execute(t.Context(), r.run(`{"command":"c","args":{"day":"2026-11-21","text":"a  $HOME; ü"}}`))
	require.NoError(t, err)
	require.Equal(t, scheduler.Result{Output: map[string]any{"exit_code": 0}}, res)
	lines := strings.Split(strings.TrimSpace(r.text()), "\n")
	require.Equal(t, []string{"<--day=2026-11-21><a  $HOME; ü><--><a  $HOME; ü>", dir, "/dev/null", "4"}, lines[:4]) // 0, 1, 2, and ls's own
	vars := lines[4:]
	require.NotContains(t, r.text(), "GOMAXPROCS")
	require.ElementsMatch(t, []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=de_DE.UTF-8", "REPORT=a b", "PWD=" + dir,
		"ROWRUN_RUN_ID=7", "ROWRUN_ROOT_ID=5", "ROWRUN_ATTEMPT=2",
	}, vars)
	for _, row := range r.logged() {
		require.Equal(t, "output", row["kind"])
	}
}

func TestHowACommandEndsDecides(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct{ code, detail string }{
		"echo before; echo wrong >&2; exit 3": {"EXIT_3", "command c ended with exit code 3: before\nwrong"},
		"exit 255":                            {"EXIT_255", "command c ended with exit code 255"},
		"kill -9 $$":                          {"EXIT_137", "command c ended with signal SIGKILL"},
		"kill -TERM $$":                       {"EXIT_143", "command c ended with signal SIGTERM"},
		"kill -34 $$":                         {"EXIT_162", "command c ended with signal 34"},
		"echo why; kill -64 $$":               {"EXIT_192", "command c ended with signal 64: why"},
	} {
		e := executor(t, Command{Path: script(t, body)}, 0)
		_, err := e.Execute(t.Context(), (&recorder{}).run(`{"command":"c"}`))
		f := failure(t, err)
		require.Equal(t, want.code, f.Code, body)
		require.Equal(t, want.detail, f.Detail, body)
		require.True(t, f.Retryable)
	}
}

func TestACommandThatCannotStart(t *testing.T) {
	t.Parallel()
	path := script(t, "exit 0")
	e := executor(t, Command{Path: path, Args: []string{"{s}"}}, 0)
	_, err := e.Execute(t.Context(), (&recorder{}).run(`{"command":"c","args":{"s":"`+strings.Repeat("x", 200<<10)+`"}}`))
	f := failure(t, err)
	require.Equal(t, scheduler.CodeBadInput, f.Code)
	require.Contains(t, f.Detail, "too long")

	require.NoError(t, os.Remove(path))
	_, err = e.Execute(t.Context(), (&recorder{}).run(`{"command":"c","args":{"s":""}}`))
	require.ErrorIs(t, err, syscall.ENOENT) // plain errors may be retried
	require.ErrorContains(t, err, "could not be started")
}

// family starts a child in the group, one in a session of its own, a daemon
// whose parents have ended, and one that ignores SIGTERM, and waits.
const family = `
sleep 1000 & echo $! >>"$1"
setsid sh -c 'echo $$ >>"$0"; sleep 1000; :' "$1" &
( setsid sh -c 'echo $$ >>"$0"; sleep 1000; :' "$1" & )
setsid sh -c 'trap "" TERM; echo $$ >>"$0"; while :; do sleep 1000; done' "$1" &
echo $$ >>"$1"
`

func TestEndOfTheContextEndsEveryProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	e := executor(t, Command{Path: script(t, family+"wait"), Args: []string{file}}, 300*time.Millisecond)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := e.Execute(ctx, (&recorder{}).run(`{"command":"c"}`))
		ended <- err
	}()
	started := pids(t, file, 5)
	for _, pid := range started {
		require.True(t, alive(pid))
	}
	cancel(scheduler.ErrTimeout)
	require.ErrorIs(t, <-ended, scheduler.ErrTimeout)
	requireGone(t, started)
}

func TestWhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	body := family + `while [ "$(wc -l <"$1")" -lt 5 ]; do sleep 0.01; done`
	e := executor(t, Command{Path: script(t, body), Args: []string{file}}, 300*time.Millisecond)
	_, err := e.Execute(t.Context(), (&recorder{}).run(`{"command":"c"}`))
	require.NoError(t, err)
	requireGone(t, pids(t, file, 5))
}

func TestACommandMayEndInItsGracePeriodButIsCanceled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	e := executor(t, Command{
		Path: script(t, `trap 'echo tidied up; exit 0' TERM; echo $$ >>"$1"; while :; do sleep 0.05; done`), Args: []string{file},
	}, time.Minute)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r, ended := &recorder{}, make(chan error, 1)
	go func() {
		_, err := e.Execute(ctx, r.run(`{"command":"c"}`))
		ended <- err
	}()
	started := pids(t, file, 1)
	cancel(scheduler.ErrCanceled)
	require.ErrorIs(t, <-ended, scheduler.ErrCanceled)
	require.Contains(t, r.text(), "tidied up\n") // SIGKILL would not have let it say so
	requireGone(t, started)
}

func TestAContextThatHasEndedStartsNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "started")
	e := executor(t, Command{Path: "/usr/bin/touch", Args: []string{file}}, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(scheduler.ErrDrained)
	_, err := e.Execute(ctx, (&recorder{}).run(`{"command":"c"}`))
	require.ErrorIs(t, err, scheduler.ErrDrained)
	require.NoFileExists(t, file)
}

func TestASidecarKilledTakesItsCommandsAlong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	path := script(t, "set -- "+file+"\n"+family+"wait")
	self, err := os.Executable()
	require.NoError(t, err)
	sidecar := exec.CommandContext(t.Context(), self)
	sidecar.Env = append(os.Environ(), sidecarScript+"="+path)
	require.NoError(t, sidecar.Start())
	started := pids(t, file, 5)
	for _, pid := range started {
		require.True(t, alive(pid))
	}
	require.NoError(t, sidecar.Process.Kill())
	require.ErrorContains(t, sidecar.Wait(), "signal: killed")
	require.Eventually(t, func() bool {
		for _, pid := range started {
			if alive(pid) {
				return false
			}
		}
		return true
	}, 10*time.Second, 20*time.Millisecond)
}

func TestASupervisorKilledTakesItsCommandAlong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	e := executor(t, Command{Path: script(t, `sleep 1000 & echo $! >>"$1"; echo $$ >>"$1"; echo $PPID >>"$1"; wait`), Args: []string{file}}, 0)
	ended := make(chan error, 1)
	go func() {
		_, err := e.Execute(t.Context(), (&recorder{}).run(`{"command":"c"}`))
		ended <- err
	}()
	started := pids(t, file, 3)
	cmdline, err := os.ReadFile("/proc/" + strconv.Itoa(started[2]) + "/cmdline")
	require.NoError(t, err)
	require.Contains(t, string(cmdline), superviseArg)
	require.NoError(t, syscall.Kill(started[2], syscall.SIGKILL))
	require.ErrorContains(t, <-ended, "supervisor was killed")
	require.Eventually(t, func() bool { return !alive(started[0]) && !alive(started[1]) }, 10*time.Second, 20*time.Millisecond)
}

// A stop of the whole service reaches the supervisor, too: the sidecar decides.
func TestASupervisorOutlivesTheSignalsOfAShutdown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	e := executor(t, Command{
		Path: script(t, `echo $PPID >>"$1"; for s in INT TERM HUP QUIT; do kill -$s $PPID; done; kill -0 $PPID && kill -TERM $$`), Args: []string{file},
	}, 0)
	_, err := e.Execute(t.Context(), (&recorder{}).run(`{"command":"c"}`))
	require.Equal(t, "EXIT_143", failure(t, err).Code) // nor are signals ignored in the command
}

// The sidecar can do nothing then: only the kernel is left.
func TestASupervisorKilledUnderAStoppedSidecarTakesItsCommandAlong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	path := script(t, "echo $$ >>"+file+"; echo $PPID >>"+file+"; exec sleep 1000")
	self, err := os.Executable()
	require.NoError(t, err)
	sidecar := exec.CommandContext(t.Context(), self)
	sidecar.Env = append(os.Environ(), sidecarScript+"="+path)
	require.NoError(t, sidecar.Start())
	defer func() {
		_ = sidecar.Process.Kill()
		_ = sidecar.Wait()
	}()
	started := pids(t, file, 2)
	require.NoError(t, sidecar.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return state(sidecar.Process.Pid) == "T" }, 10*time.Second, 10*time.Millisecond)
	require.True(t, alive(started[0]))
	require.NoError(t, syscall.Kill(started[1], syscall.SIGKILL))
	require.Eventually(t, func() bool { return !alive(started[0]) }, 10*time.Second, 20*time.Millisecond)
}
