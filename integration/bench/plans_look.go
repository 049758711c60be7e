package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// largePlan is the plan of 10,000 tasks that history makes.
const largePlan = 1_000_000_000

// history makes plans of 100 tasks whose runs have all ended, ten of each task, and one plan of 10,000 tasks. The
// triggers stay aside: a million runs would take them half an hour.
const history = `
	SET session_replication_role = replica;
	INSERT INTO rowrun.plan (id, name) SELECT i, 'plan ' || i FROM generate_series(1, greatest($1::int / 1000, 1)) i;
	INSERT INTO rowrun.plan (id, name) VALUES (1000000000, 'large');
	INSERT INTO rowrun.task (plan_id, type, sequential, outcome) SELECT p.id, 'NOOP', false, 'DONE' FROM rowrun.plan p, generate_series(1, 100) WHERE p.id < 1000000000 ORDER BY p.id;
	INSERT INTO rowrun.task (plan_id, type, sequential, outcome) SELECT 1000000000, 'NOOP', false, 'DONE' FROM generate_series(1, 10000);
	INSERT INTO rowrun.task_run (task_id, plan_id, root_id, status, priority, creator, type, queue, sequential, started_at, finished_at, round)
	SELECT k.id, k.plan_id, 0, 'DONE', 0, 'bench', 'NOOP', 'default', false, now(), now(), 1
	FROM generate_series(1, 10) n, rowrun.task k WHERE k.plan_id < 1000000000 OR n = 1 ORDER BY n, k.id;
	SET session_replication_role = origin`

// planStatus asks for one plan at a time beside many runs that have ended.
func (b *bench) planStatus(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, "look", true)
	if err != nil {
		return err
	}
	defer d.close()
	runs := b.scale(50_000, 1_000_000)
	if err := d.fill(ctx, history, runs); err != nil {
		return err
	}
	if err := d.do(ctx, "VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return err
	}
	for _, c := range []struct {
		what  string
		tasks int
		goal  string
		plan  func(i int) int
	}{
		{"plan_status of a plan of 100 tasks", 100, "< 5 ms", func(i int) int { return 1 + i*7919%(runs/1000) }},
		{"plan_status of a plan of 10,000 tasks", 10_000, "", func(int) int { return largePlan }},
	} {
		took := []float64{}
		for i := range 210 {
			begun := time.Now()
			var status string
			var done int
			err := d.QueryRow(ctx, "SELECT status, done FROM rowrun.plan_status WHERE plan_id = $1", c.plan(i)).Scan(&status, &done)
			if err != nil {
				return err
			}
			if status != "DONE" || done != c.tasks {
				return fmt.Errorf("%s is %s with %d done", c.what, status, done)
			}
			took = append(took, ms(begun))
		}
		b.table.row(fmt.Sprintf("%s, %d runs", c.what, runs), spread(took[10:], 50, 99), c.goal)
	}
	return nil
}

// arrivals is an endpoint that notes when it is first told of each plan.
type arrivals struct {
	server   *http.Server
	url      string
	arrived  chan arrival
	finished chan struct{}
}

type arrival struct {
	plan int64
	at   time.Time
}

func newArrivals(ctx context.Context) (*arrivals, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &arrivals{url: "http://" + listener.Addr().String(), arrived: make(chan arrival), finished: make(chan struct{})}
	a.server = &http.Server{ReadTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		at := time.Now()
		var event struct {
			Data struct {
				PlanID int64 `json:"plan_id"`
			} `json:"data"`
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
		if err == nil {
			err = json.Unmarshal(body, &event)
		}
		if err != nil {
			http.Error(w, "no event", http.StatusBadRequest)
			return
		}
		select {
		case a.arrived <- arrival{event.Data.PlanID, at}:
		case <-req.Context().Done():
		}
	})}
	go func() {
		defer close(a.finished)
		_ = a.server.Serve(listener) // ends with close
	}()
	return a, nil
}

func (a *arrivals) close() {
	_ = a.server.Close()
	<-a.finished
}

// planPost measures from the moment at which the deciding transaction claims the right to send to the arrival of the
// POST, with one replica that has nothing else to do. Both clocks are this machine's.
func (b *bench) planPost(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, "post", true)
	if err != nil {
		return err
	}
	defer d.close()
	endpoint, err := newArrivals(ctx)
	if err != nil {
		return err
	}
	defer endpoint.close()
	if _, err := d.Exec(ctx, "INSERT INTO rowrun.webhook (name, url) VALUES ('here', $1)", endpoint.url); err != nil {
		return err
	}
	r, err := b.serve(ctx, d.url, append(rareSweeps(), "--webhook-allow-cidr", "127.0.0.0/8")...)
	if err != nil {
		return err
	}
	const warmUp = 10
	var took []float64
	for i := range warmUp + b.scale(100, 500) {
		wait, err := d.told(ctx, endpoint)
		if err != nil {
			return r.blame(err)
		}
		if i >= warmUp {
			took = append(took, wait)
		}
	}
	b.table.row("deciding transaction → first POST", spread(took, 50, 99), "p50 < 10 ms, p99 < 100 ms")
	return r.stop()
}

// told makes a plan of one task, runs it, and returns how long the POST took, in ms.
func (d *database) told(ctx context.Context, endpoint *arrivals) (float64, error) {
	var plan int64
	err := d.QueryRow(ctx, `WITH p AS (INSERT INTO rowrun.plan (name) VALUES ('one') RETURNING id)
		INSERT INTO rowrun.task (plan_id, type) SELECT id, 'NOOP' FROM p RETURNING plan_id`).Scan(&plan)
	if err != nil {
		return 0, err
	}
	if _, err := d.Exec(ctx, "SELECT rowrun.run_plan($1)", plan); err != nil {
		return 0, err
	}
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case got := <-endpoint.arrived:
			if got.plan != plan {
				continue // a second copy of the one before
			}
			var decided time.Time
			if err := d.QueryRow(ctx, "SELECT delivered_at FROM rowrun.webhook_delivery_log WHERE plan_id = $1", plan).Scan(&decided); err != nil {
				return 0, err
			}
			return float64(got.at.Sub(decided)) / float64(time.Millisecond), nil
		case <-timer.C:
			return 0, errors.New("no POST within a minute")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
