//go:build linux

package cmdexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// overtime is how much longer than its grace period and its killing the
	// supervisor may take to end before it is killed itself.
	overtime = 5 * time.Second
	// drainTimeout bounds the wait for the output's end once the supervisor is
	// gone: only a process that couldn't be ended still holds the pipe then.
	drainTimeout = 2 * time.Second
)

// spec is what the supervisor is to start; it travels on the control pipe.
type spec struct {
	Path    string   `json:"path"`
	Argv    []string `json:"argv"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	GraceMS int64    `json:"grace_ms"`
}

// report is what the supervisor says on the status pipe when nothing of the
// command is left.
type report struct {
	Ended      bool           `json:"ended"`                 // false: there was no report
	StartError syscall.Errno  `json:"start_error,omitempty"` // it didn't start at all
	Exit       int            `json:"exit,omitempty"`
	Signal     syscall.Signal `json:"signal,omitempty"`
	Stopped    bool           `json:"stopped,omitempty"` // was told to end before it had
	Left       int            `json:"left,omitempty"`    // processes that survived SIGKILL
}

// supervise runs s under a supervisor until nothing of it is left. When ctx ends
// it has the supervisor end the command. All that was written has gone through
// out when it returns.
func supervise(ctx context.Context, s spec, out *output) (report, error) {
	p, err := startSupervisor()
	if err != nil {
		return report{}, err
	}
	defer p.close()

	var work sync.WaitGroup
	drained := make(chan struct{})
	work.Go(func() {
		defer close(drained)
		_, _ = io.Copy(out, p.output) // ends at EOF, or at the deadline that drain sets
	})
	work.Go(func() { out.record(ctx, drained) })
	work.Go(func() { out.progress.run(ctx, drained) })
	work.Go(func() {
		// A supervisor that is gone is noticed on the status pipe.
		_ = json.NewEncoder(p.control).Encode(s)
	})

	ended := make(chan struct{})
	work.Go(func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		_ = p.control.Close() // the supervisor takes it from here
		patience := time.NewTimer(time.Duration(s.GraceMS)*time.Millisecond + killTimeout + overtime)
		defer patience.Stop()
		select {
		case <-ended:
		case <-patience.C:
			_ = p.cmd.Process.Kill()
		}
	})

	end := p.await()
	_ = p.output.SetReadDeadline(time.Now().Add(drainTimeout))
	close(ended)
	_ = p.control.Close() // frees a writer that the supervisor never listened to
	work.Wait()
	return end, end.problem()
}

// problem says what of the command may be left, or is unknown.
func (r *report) problem() error {
	switch {
	case !r.Ended:
		return errors.New("its supervisor was killed, and the command with it")
	case r.Left > 0:
		return fmt.Errorf("%d of its processes could not be ended", r.Left)
	}
	return nil
}

// supervisor is the sidecar's side of one.
type supervisor struct {
	cmd                     *exec.Cmd
	control, status, output *os.File
}

// startSupervisor starts this binary again. /proc/self/exe is that binary also
// after an upgrade has replaced the file.
func startSupervisor() (_ *supervisor, err error) {
	p := &supervisor{}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			p.close()
			err = fmt.Errorf("start its supervisor: %w", err)
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	controlRead, controlWrite := pipe()
	statusRead, statusWrite := pipe()
	outputRead, outputWrite := pipe()
	theirs = []*os.File{controlRead, statusWrite, outputWrite}
	p.control, p.status, p.output = controlWrite, statusRead, outputRead
	if err != nil {
		return nil, err
	}
	p.cmd = &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       []string{"rowrun", superviseArg},
		Env:        []string{"GOMAXPROCS=1"},
		Dir:        "/",
		Stdout:     outputWrite,
		Stderr:     outputWrite, // one pipe for both keeps the order of what is written
		ExtraFiles: []*os.File{controlRead, statusWrite},
		// A terminal's Ctrl-C is for the sidecar; and the session's id is known
		// here before anything is started in it.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	return p, p.cmd.Start()
}

// await waits for the supervisor's report and its end. One that ended without a
// report was killed: the kernel has killed the command then, and await kills what
// is left in the session.
func (p *supervisor) await() report {
	var r report
	if err := json.NewDecoder(p.status).Decode(&r); err != nil {
		r = report{}
		_ = p.cmd.Process.Kill()       // it is gone, or past helping
		killSession(p.cmd.Process.Pid) // before Wait: until then the id is taken
	}
	_ = p.cmd.Wait() // how it ended says nothing that the report doesn't
	return r
}

func (p *supervisor) close() {
	for _, f := range []*os.File{p.control, p.status, p.output} {
		_ = f.Close() // a nil or closed file says so, and that is all right
	}
}
