package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const logFromWAL = "inserts are seen in the write-ahead log"

// stream measures how long after its commit a transition stands in the stream, and what waking costs those who insert.
func (b *bench) stream(ctx context.Context) error {
	s, err := b.startServer(ctx, map[string]string{"track_commit_timestamp": "on", "max_slot_wal_keep_size": "4GB", "max_connections": "100"})
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for _, source := range []string{"wal", "listen"} {
		if err := b.streamLag(ctx, s, source); err != nil {
			return err
		}
	}
	return b.insertRates(ctx, s)
}

// endLines are when the end of each run was read from a replica's standard output.
type endLines struct {
	mu sync.Mutex
	at map[int64]time.Time
}

func (a *endLines) follow(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		now := time.Now()
		var l struct {
			RunID int64 `json:"run_id"`
			To    string
		}
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.To == "DONE" {
			a.mu.Lock()
			a.at[l.RunID] = now
			a.mu.Unlock()
		}
	}
}

// streamLag has 125 runs a second executed, with four transitions each, and looks at the line of the last.
func (b *bench) streamLag(ctx context.Context, s *server, source string) error {
	d, err := b.newDatabase(ctx, s, "lag_"+source, true)
	if err != nil {
		return err
	}
	defer d.close()
	got := &endLines{at: map[int64]time.Time{}}
	r, err := b.serveTo(ctx, d.url, got.follow, append(rareSweeps(), "--stream-source", source)...)
	if err != nil {
		return err
	}
	const rate = 125
	runs := rate * b.scale(10, 60)
	if _, err := d.startDelays(ctx, rate, runs); err != nil {
		return r.blame(err)
	}
	type end struct {
		ID int64
		At time.Time
	}
	rows, err := d.Query(ctx, `SELECT id, pg_xact_commit_timestamp(xmin) AS at FROM rowrun.task_run WHERE status = 'DONE' ORDER BY id OFFSET $1`, rate)
	if err != nil {
		return r.blame(err)
	}
	ends, err := pgx.CollectRows(rows, pgx.RowToStructByPos[end])
	if err != nil {
		return r.blame(err)
	}
	err = poll(ctx, time.Minute, "every line", func() (bool, error) {
		got.mu.Lock()
		defer got.mu.Unlock()
		return len(got.at) >= runs+rate, nil
	})
	if err != nil {
		return r.blame(err)
	}
	if err := r.stop(); err != nil {
		return err
	}
	lags := make([]float64, 0, len(ends))
	for _, e := range ends {
		lags = append(lags, float64(got.at[e.ID].Sub(e.At).Microseconds())/1000)
	}
	b.table.row(fmt.Sprintf("commit → line, source %s, %d transitions/s", source, 4*rate), spread(lags, 50, 95, 99), "p99 < 10 ms")
	return nil
}

// insertRates has 32 writers insert runs that are due tomorrow, so that nothing but waking is in their way, with each
// way to wake and without the trigger that notifies, in turns.
func (b *bench) insertRates(ctx context.Context, s *server) error {
	ways := []struct{ name, wake, goal string }{
		{"no notifying trigger", "poll", ""},
		{"woken by the log", "wal", ">= 90 %"},
		{"woken by NOTIFY", "notify", ">= 75 %"},
	}
	rates := make([][]float64, len(ways))
	for round := range b.scale(3, 7) {
		for i, way := range ways {
			rate, err := b.insertRate(ctx, s, fmt.Sprintf("insert_%s_%d", way.wake, round), way.wake)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], rate)
		}
	}
	for i, way := range ways {
		b.table.row("32 writers, "+way.name, fmt.Sprintf("%.0f inserts/s, %.0f %%", median(rates[i]), 100*median(rates[i])/median(rates[0])), way.goal)
	}
	return nil
}

func (b *bench) insertRate(ctx context.Context, s *server, name, wake string) (float64, error) {
	d, err := b.newDatabase(ctx, s, name, true)
	if err != nil {
		return 0, err
	}
	defer d.close()
	var task int64
	if err := d.QueryRow(ctx, "SELECT rowrun.define_task('insert', 'NOOP')").Scan(&task); err != nil {
		return 0, err
	}
	args := append(rareSweeps(), "--stream-source", "wal", "--wake", wake)
	if wake == "poll" {
		if err := d.do(ctx, "ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_inserted"); err != nil {
			return 0, err
		}
	}
	r, err := b.serveTo(ctx, d.url, func(out io.Reader) { _, _ = io.Copy(io.Discard, out) }, args...)
	if err != nil {
		return 0, err
	}
	if wake == "wal" {
		err := poll(ctx, time.Minute, "a replica that is woken by the log", func() (bool, error) {
			text, err := os.ReadFile(r.log)
			return slices.Contains(messages(text), logFromWAL), err
		})
		if err != nil {
			return 0, r.blame(err)
		}
	}
	rate, err := d.insertFor(ctx, task, time.Duration(b.scale(3, 10))*time.Second)
	if err != nil {
		return 0, r.blame(err)
	}
	return rate, r.stop()
}

// insertFor returns how many single inserts a second 32 connections do in a time.
func (d *database) insertFor(ctx context.Context, task int64, during time.Duration) (float64, error) {
	insert := "INSERT INTO rowrun.task_run (task_id, run_at) VALUES (" + strconv.FormatInt(task, 10) + ", now() + interval '1 day')"
	limited, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	begun := time.Now()
	for range 32 {
		wg.Go(func() {
			conn, err := pgx.Connect(ctx, d.url)
			if err != nil {
				failed.Store(&err)
				return
			}
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			for limited.Err() == nil {
				if _, err := conn.Exec(ctx, insert); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(begun).Seconds(), nil
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
