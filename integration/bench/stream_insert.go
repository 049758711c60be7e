package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

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
		b.table.row("32 writers, "+way.name, fmt.Sprintf("%.0f inserts/s, %.0f %%", measure.Median(rates[i]), 100*measure.Median(rates[i])/measure.Median(rates[0])), way.goal)
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
		if err := r.readsLog(ctx); err != nil {
			return 0, err
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
