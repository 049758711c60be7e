package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// endLines are when the end of each run was read from a replica's standard output.
type endLines struct {
	mu sync.Mutex
	at map[int64]time.Time
}

func (a *endLines) follow(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		now, line := time.Now(), lines.Bytes()
		// Without a JSON parser, which at 20,000 lines a second would compete with what is measured.
		if !bytes.Contains(line, []byte(`"to":"DONE"`)) {
			continue
		}
		_, rest, _ := bytes.Cut(line, []byte(`"run_id":`))
		number, _, _ := bytes.Cut(rest, []byte(","))
		if id, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			a.mu.Lock()
			a.at[id] = now
			a.mu.Unlock()
		}
	}
}

// lags waits until the end of n runs was read, and returns how long after their commits that was, in ms, but for the first ones.
func (a *endLines) lags(ctx context.Context, d *database, n, but int) ([]float64, error) {
	type end struct {
		ID int64
		At time.Time
	}
	rows, err := d.Query(ctx, `SELECT id, pg_xact_commit_timestamp(xmin) AS at FROM rowrun.task_run WHERE status = 'DONE' ORDER BY id OFFSET $1`, but)
	if err != nil {
		return nil, err
	}
	ends, err := pgx.CollectRows(rows, pgx.RowToStructByPos[end])
	if err != nil {
		return nil, err
	}
	err = poll(ctx, time.Minute, "every line", func() (bool, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.at) >= n, nil
	})
	if err != nil {
		return nil, err
	}
	lags := make([]float64, 0, len(ends))
	for _, e := range ends {
		lags = append(lags, float64(a.at[e.ID].Sub(e.At).Microseconds())/1000)
	}
	return lags, nil
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
	if source == "wal" {
		if err := r.readsLog(ctx); err != nil {
			return err
		}
	}
	const rate = 125
	runs := rate * b.scale(10, 60)
	if _, err := d.startDelays(ctx, rate, runs); err != nil {
		return r.blame(err)
	}
	lags, err := got.lags(ctx, d, runs+rate, rate)
	if err != nil {
		return r.blame(err)
	}
	if err := r.stop(); err != nil {
		return err
	}
	b.table.row(fmt.Sprintf("commit → line, source %s, %d transitions/s", source, 4*rate), spread(lags, 50, 95, 99), "p99 < 10 ms")
	return nil
}

// streamAtRate offers 5,000 runs a second, 50 in a statement, and looks how many a second are done, and how late their last lines are.
func (b *bench) streamAtRate(ctx context.Context, s *server, source string) error {
	d, err := b.newDatabase(ctx, s, "rate_"+source, true)
	if err != nil {
		return err
	}
	defer d.close()
	got := &endLines{at: map[int64]time.Time{}}
	r, err := b.serveTo(ctx, d.url, got.follow, append(rareSweeps(), "--stream-source", source, "--concurrency", strconv.Itoa(riverWorkers))...)
	if err != nil {
		return err
	}
	if source == "wal" {
		if err := r.readsLog(ctx); err != nil {
			return err
		}
	}
	var task int64
	if err := d.QueryRow(ctx, "SELECT rowrun.define_task('rate', 'NOOP')").Scan(&task); err != nil {
		return r.blame(err)
	}
	const rate, together = 5000, 50
	runs := rate * b.scale(5, 30)
	server, err := measure.ServerSeconds(s.PID())
	if err != nil {
		return r.blame(err)
	}
	client, err := measure.CPUSeconds(r.pid())
	if err != nil {
		return r.blame(err)
	}
	tick := time.NewTicker(time.Second * together / rate)
	defer tick.Stop()
	for range runs / together {
		select {
		case <-ctx.Done():
			return r.blame(ctx.Err())
		case <-tick.C:
		}
		if _, err := d.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int)", task, together); err != nil {
			return r.blame(err)
		}
	}
	if err := d.allDone(ctx, task, time.Minute); err != nil {
		return r.blame(err)
	}
	serverEnd, err := measure.ServerSeconds(s.PID())
	if err != nil {
		return r.blame(err)
	}
	clientEnd, err := measure.CPUSeconds(r.pid())
	if err != nil {
		return r.blame(err)
	}
	took, err := d.numbers(ctx, "SELECT extract(epoch FROM max(finished_at) - min(created_at))::float8 FROM rowrun.task_run")
	if err != nil {
		return r.blame(err)
	}
	each := 1e6 / float64(4*runs)
	b.table.row(fmt.Sprintf("%d runs/s offered, source %s", rate, source), fmt.Sprintf("%.0f runs/s done; CPU per transition: client %.0f µs, server %.0f µs",
		float64(runs)/took[0], (clientEnd-client)*each, (serverEnd-server)*each), "the rate of off")
	if source == "off" {
		return r.stop()
	}
	lags, err := got.lags(ctx, d, runs, 0)
	if err != nil {
		return r.blame(err)
	}
	b.table.row("  commit → line meanwhile", spread(lags, 50, 95, 99), "p99 < 25 ms")
	return r.stop()
}

// streamDrain works a backlog off as fast as it goes, in turns.
func (b *bench) streamDrain(ctx context.Context, s *server) error {
	d, err := b.newDatabase(ctx, s, "drain_stream", true)
	if err != nil {
		return err
	}
	defer d.close()
	many := strconv.Itoa(riverWorkers)
	all := []*contender{
		b.noop(d, "unthrottled, stream off", "--concurrency", many, "--stream-source", "off"),
		b.noop(d, "unthrottled, source wal", "--concurrency", many, "--stream-source", "wal"),
	}
	for range b.scale(3, 5) {
		for _, c := range all {
			if err := c.play(ctx, s, b.scale(20_000, 100_000)); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	for _, c := range all {
		b.table.row(c.name, fmt.Sprintf("%.0f runs/s, %.0f %%; CPU per transition: client %.0f µs, server %.0f µs", measure.Median(c.rate),
			100*measure.Median(c.rate)/measure.Median(all[0].rate), measure.Median(c.client)/4, measure.Median(c.server)/4), ">= 50 %")
	}
	return nil
}
