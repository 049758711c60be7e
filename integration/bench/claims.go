package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// sending is a run and when its insert was sent, or when it was due.
type sending struct {
	id int64
	at time.Time
}

// insertAtRate inserts single NOOP runs as psql would, each a simple query and a transaction of its own: so many a second
// by all writers together, each with a connection of its own. What each sent, in its order.
func (d *database) insertAtRate(ctx context.Context, writers, rate, runs int) ([][]sending, error) {
	var task int64
	if err := d.QueryRow(ctx, "SELECT rowrun.define_task('noop', 'NOOP')").Scan(&task); err != nil {
		return nil, err
	}
	statement := "INSERT INTO rowrun.task_run (task_id) VALUES (" + strconv.FormatInt(task, 10) + ") RETURNING id"
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := make([][]sending, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			var err error
			if sent[i], err = insertSingles(ctx, d.url, statement, rate/writers, runs/writers); err != nil {
				cancel(err) // the others needn't go on
			}
		})
	}
	all.Wait()
	return sent, context.Cause(ctx)
}

func insertSingles(ctx context.Context, url, statement string, rate, runs int) ([]sending, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	sent := make([]sending, runs)
	for i := range sent {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		sent[i].at = time.Now()
		if err := conn.QueryRow(ctx, statement, pgx.QueryExecModeSimpleProtocol).Scan(&sent[i].id); err != nil {
			return nil, fmt.Errorf("insert a run: %w", err)
		}
	}
	return sent, nil
}

// claimsByLog are the lines of a replica that doesn't write the stream: written when the claim's answer has come, just
// before the executor is called.
func claimsByLog(_ context.Context, _ *database, r *replica) (map[int64]time.Time, error) {
	text, err := os.ReadFile(r.log)
	if err != nil {
		return nil, err
	}
	began := map[int64]time.Time{}
	for line := range bytes.Lines(text) {
		var l struct {
			Message string    `json:"message"`
			RunID   int64     `json:"run_id"`
			Time    time.Time `json:"time"`
		}
		if json.Unmarshal(line, &l) == nil && l.Message == "run claimed" {
			began[l.RunID] = l.Time
		}
	}
	return began, nil
}

// claimsByRow are the times that the claims wrote, by the clock of the server, which is this machine's.
func claimsByRow(ctx context.Context, d *database, _ *replica) (map[int64]time.Time, error) {
	rows, err := d.Query(ctx, "SELECT id, started_at FROM rowrun.task_run")
	if err != nil {
		return nil, err
	}
	began := map[int64]time.Time{}
	var id int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		began[id] = at
		return nil
	})
	return began, err
}

// delays are how long after its time each run began, in ms.
func delays(sent []sending, began map[int64]time.Time) ([]float64, error) {
	waits := make([]float64, 0, len(sent))
	for _, run := range sent {
		at, ok := began[run.id]
		if !ok {
			return nil, fmt.Errorf("it isn't known when run %d began", run.id)
		}
		waits = append(waits, float64(at.Sub(run.at))/float64(time.Millisecond))
	}
	return waits, nil
}
