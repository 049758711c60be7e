package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const logFromWAL = "inserts are seen in the write-ahead log"

// stream measures how long after its commit a transition stands in the stream, and what waking costs those who insert.
func (b *bench) stream(ctx context.Context) error {
	s, err := b.startServer(ctx, map[string]string{"track_commit_timestamp": "on", "max_slot_wal_keep_size": "4GB", "max_connections": "100", "max_replication_slots": "64"})
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for _, source := range []string{"wal", "listen"} {
		if err := b.streamLag(ctx, s, source); err != nil {
			return err
		}
	}
	for _, source := range []string{"off", "wal"} {
		if err := b.streamAtRate(ctx, s, source); err != nil {
			return err
		}
	}
	if err := b.streamDrain(ctx, s); err != nil {
		return err
	}
	return b.insertRates(ctx, s)
}

// readsLog waits until the replica reads the log: what was before its slot has no line.
func (r *replica) readsLog(ctx context.Context) error {
	err := poll(ctx, time.Minute, "a replica that is woken by the log", func() (bool, error) {
		text, err := os.ReadFile(r.log)
		return slices.Contains(messages(text), logFromWAL), err
	})
	if err != nil {
		return r.blame(err)
	}
	return nil
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

// serveTo is serve for a replica whose stream is read.
func (b *bench) serveTo(ctx context.Context, url string, read func(io.Reader), args ...string) (*replica, error) {
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
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		read(out)
		r.err = r.cmd.Wait()
		close(r.exited)
	}()
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
