package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	logStarted   = "heartbeat started"
	logListening = "listening for notifications"
)

// replica is a process: rowrun serve. What it prints goes where it costs the least: its stream nowhere, its log to a file.
type replica struct {
	cmd    *exec.Cmd
	log    string
	exited chan struct{} // closed when it has been reaped
	err    error         // how it ended; to be read when exited is closed
}

// serve starts a replica and waits until it has registered and hears notifications.
func (b *bench) serve(ctx context.Context, url string, args ...string) (*replica, error) {
	return b.serveTo(ctx, url, nil, args...)
}

// launch starts a replica and waits for nothing. read gets its stream; nil: it goes nowhere.
func (b *bench) launch(url string, read func(io.Reader), args ...string) (*replica, error) {
	log, err := os.CreateTemp(b.dir, "replica-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	r := &replica{log: log.Name(), exited: make(chan struct{})}
	r.cmd = exec.Command(b.rowrun, slices.Concat([]string{"serve", "--http-addr", "off"}, args)...) //nolint:noctx // stop ends it
	r.cmd.Env = environment(url)
	r.cmd.Stderr = log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out io.Reader
	if read != nil {
		if out, err = r.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		if read != nil {
			read(out)
		}
		r.err = r.cmd.Wait()
		close(r.exited)
	}()
	return r, nil
}

// serveTo is serve for a replica whose stream is read; nil: it goes nowhere.
func (b *bench) serveTo(ctx context.Context, url string, read func(io.Reader), args ...string) (*replica, error) {
	r, err := b.launch(url, read, args...)
	if err != nil {
		return nil, err
	}
	err = poll(ctx, time.Minute, "a replica that serves", func() (bool, error) {
		select {
		case <-r.exited:
			return false, fmt.Errorf("serve ended: %w", r.err)
		default:
		}
		text, err := os.ReadFile(r.log)
		said := messages(text)
		return slices.Contains(said, logStarted) && slices.Contains(said, logListening), err
	})
	if err != nil {
		return nil, r.blame(err)
	}
	return r, nil
}

// messages are those of a log.
func messages(text []byte) (found []string) {
	for line := range bytes.Lines(text) {
		var l struct{ Message string }
		if json.Unmarshal(line, &l) == nil {
			found = append(found, l.Message)
		}
	}
	return found
}

// stop asks for a drain and waits for a clean end.
func (r *replica) stop() error {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(time.Minute, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	<-r.exited
	if r.err != nil {
		return r.blame(fmt.Errorf("serve ended: %w", r.err))
	}
	return nil
}

// kill ends the process as a crash would.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	<-r.exited
}

// blame adds the end of the log to an error, and ends the process.
func (r *replica) blame(err error) error {
	_ = r.cmd.Process.Kill()
	<-r.exited
	text, _ := os.ReadFile(r.log)
	return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
}

func (r *replica) pid() int { return r.cmd.Process.Pid }

// environment is what a process of ours gets: nothing of ROWRUN_* or PG*.
func environment(url string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Clean(os.TempDir()), "HOSTNAME=bench", "DATABASE_URL=" + url}
}

// poll asks every 5 ms until ok.
func poll(ctx context.Context, within time.Duration, what string, ok func() (bool, error)) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-deadline.C:
			return fmt.Errorf("%s: not within %s", what, within)
		case <-tick.C:
		}
	}
}
