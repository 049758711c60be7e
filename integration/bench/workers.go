package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// workers measures programs that claim and end by functions: how many runs a second they do with batches of 1, 10 and 100,
// each result sent with the claim of the next batch; and what a claim of 100 costs the server beside a replica's.
func (b *bench) workers(ctx context.Context) error {
	if err := b.on(ctx, func(s *server) error { return b.workerBatches(ctx, s) }); err != nil {
		return err
	}
	return b.workerClaims(ctx)
}

// workerBatches has one worker, and four, do runs that were inserted beforehand and are no work.
func (b *bench) workerBatches(ctx context.Context, s *server) error {
	for _, workers := range []int{1, 4} {
		for _, batch := range []int{1, 10, 100} {
			runs := b.scale(1000, 10_000) * min(batch, 10)
			var rates []float64
			for round := range b.scale(3, 5) {
				d, err := b.newDatabase(ctx, s, fmt.Sprintf("batches_%d_%d_%d", workers, batch, round), true)
				if err != nil {
					return err
				}
				took, err := drainByWorkers(ctx, d, workers, batch, runs)
				d.close()
				if err != nil {
					return err
				}
				rates = append(rates, float64(runs)/took.Seconds())
			}
			who := "one worker"
			if workers > 1 {
				who = strconv.Itoa(workers) + " workers"
			}
			b.table.row(fmt.Sprintf("%s, batches of %d", who, batch), fmt.Sprintf("median %.0f runs/s (%.0f to %.0f)",
				measure.Median(rates), measure.Percentile(rates, 0), measure.Percentile(rates, 100)), "")
		}
	}
	return nil
}

// ownRuns inserts runs of a type that only workers run.
func ownRuns(ctx context.Context, d *database, runs int) error {
	if err := d.fill(ctx, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('OWN') RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM k, generate_series(1, $1::int)`, runs); err != nil {
		return err
	}
	return d.do(ctx, "VACUUM ANALYZE")
}

func drainByWorkers(ctx context.Context, d *database, workers, batch, runs int) (time.Duration, error) {
	if err := ownRuns(ctx, d, runs); err != nil {
		return 0, err
	}
	began := time.Now()
	failures := make([]error, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() { failures[i] = work(ctx, d.url, "worker-"+strconv.Itoa(i), batch) })
	}
	all.Wait()
	took := time.Since(began)
	if err := errors.Join(failures...); err != nil {
		return 0, err
	}
	var done int
	if err := d.QueryRow(ctx, "SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'").Scan(&done); err != nil {
		return 0, err
	}
	if done != runs {
		return 0, fmt.Errorf("%d of %d runs are DONE", done, runs)
	}
	return took, nil
}

// work is a worker that does nothing with its runs, until there are none.
func work(ctx context.Context, url, name string, batch int) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	type entry struct {
		RunID  int64  `json:"run_id"`
		Claim  string `json:"claim"`
		Status string `json:"status"`
	}
	for held := []entry{}; ; {
		for i := range held {
			held[i].Status = "DONE"
		}
		results, err := json.Marshal(held)
		if err != nil {
			return err
		}
		var answer struct{ Claimed []entry }
		if err := conn.QueryRow(ctx, `SELECT rowrun.finish_runs(gen_random_uuid(), $1, $2::jsonb, '{OWN}', $3)`, name, results, batch).Scan(&answer); err != nil {
			return err
		}
		if held = answer.Claimed; len(held) == 0 {
			return nil
		}
	}
}

// workerClaims takes turns: a claim of 100 by the statement that a replica sends, and one by a worker's function, each a
// transaction of its own, whose commit is durable, from the request to the last row. The statement's text is asked of the
// server while a replica sends it.
func (b *bench) workerClaims(ctx context.Context) error {
	const batch, first = 100, 10 // first: turns in which the sessions plan what they execute afterwards
	turns := b.scale(100, 400)
	s, err := b.startServer(ctx, map[string]string{"track_activity_query_size": "64kB"})
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, "claims", true)
	if err != nil {
		return err
	}
	defer d.close()
	statement, err := b.claimOfReplicas(ctx, d)
	if err != nil {
		return err
	}
	// Who claims in its place: what the replica's session sets, and a row that is alive.
	if err := d.do(ctx, "SET jit = off", "SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off", "SET enable_bitmapscan = off",
		"INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, types) VALUES ('bench', now() + '1 day', '{NOOP}')"); err != nil {
		return err
	}
	if err := d.fill(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM rowrun.task k, generate_series(1, $1::int)", (first+turns)*batch); err != nil {
		return err
	}
	if err := ownRuns(ctx, d, (first+turns)*batch); err != nil {
		return err
	}
	worker, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	defer func() { _ = worker.Close(context.WithoutCancel(ctx)) }()
	var took [2][]float64
	for turn := range first + turns {
		claims := []func() (pgx.Rows, error){
			func() (pgx.Rows, error) {
				return d.Query(ctx, statement, "bench", make([]byte, 32*batch), 0.0, []string{"default"}, []string{"NOOP"}, []string{}, []string{}, batch, batch)
			},
			func() (pgx.Rows, error) {
				return worker.Query(ctx, "SELECT * FROM rowrun.claim_runs(gen_random_uuid(), 'w', '{OWN}', $1)", batch)
			},
		}
		for n := range claims {
			i := (n + turn) % 2 // who comes second may find something warm
			began := time.Now()
			n, err := countRows(claims[i]())
			if err != nil {
				return err
			}
			if n != batch {
				return fmt.Errorf("a claim was given %d runs", n)
			}
			if turn >= first {
				took[i] = append(took[i], float64(time.Since(began))/float64(time.Millisecond))
			}
		}
	}
	ratio := measure.Median(took[1]) / measure.Median(took[0])
	b.table.row("a claim of 100, a replica's", spread(took[0], 0, 50, 95), "")
	b.table.row("a claim of 100, a worker's", fmt.Sprintf("%s, %.2f × by the median", spread(took[1], 0, 50, 95), ratio), "≤ 1.3 ×")
	return nil
}

func countRows(rows pgx.Rows, err error) (n int, _ error) {
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		n++
	}
	rows.Close()
	return n, rows.Err()
}

// claimOfReplicas is the text of the statement by which a replica claims many runs.
func (b *bench) claimOfReplicas(ctx context.Context, d *database) (statement string, err error) {
	if err := d.fill(ctx, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM k, generate_series(1, $1::int)`, 5000); err != nil {
		return "", err
	}
	r, err := b.serve(ctx, d.url)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.stop() }()
	err = poll(ctx, time.Minute, "the claims of a replica", func() (bool, error) {
		err := d.QueryRow(ctx, `SELECT query FROM pg_stat_activity WHERE query LIKE E'-- claim\\_runs\n%' LIMIT 1`).Scan(&statement)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return "", err
	}
	return statement, d.do(ctx, "UPDATE rowrun.task SET paused = true", "SELECT count(rowrun.cancel_run(id)) FROM rowrun.task_run WHERE status = 'AVAILABLE'",
		"UPDATE rowrun.task SET paused = false", "VACUUM ANALYZE")
}
