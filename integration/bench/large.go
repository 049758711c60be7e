package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// heldRuns inserts runs that wait: 4 of 10 until a day to come, 3 for sequential runs of 1,000 databases, 3 for a place of one of 10,000
// keys of a limit. $1 is how many. Those that may go are AVAILABLE in a queue that no replica of the benchmark serves.
const heldRuns = `INSERT INTO rowrun.task_run (task_id, run_at, input)
	SELECT k.id, now() + CASE k.name WHEN 'held later' THEN (1 + random() * 30) * interval '1 day' ELSE interval '0' END, jsonb_build_object('key', n / 10 % 10000)
	FROM (SELECT n, CASE WHEN n % 10 < 4 THEN 'held later' WHEN n % 10 < 7 THEN 'held on ' || n / 10 % 1000 ELSE 'held by a limit' END AS name
	      FROM generate_series(1, $1::int) n) w
	JOIN rowrun.task k ON k.name = w.name`

// endedRuns inserts runs that are DONE, and one of a hundred FAILED, in the order of their ends over the last 30 days: $1 of them, $2 are there.
const endedRuns = `INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, input, result,
		run_at, created_at, updated_at, available_at, started_at, finished_at)
	OVERRIDING SYSTEM VALUE
	SELECT -n, k.id, -n, CASE n % 100 WHEN 0 THEN 'FAILED' ELSE 'DONE' END, 0, 'bench', 'NOOP', 'default', false, '{}', '{}', at, at, at, at, at, at
	FROM rowrun.task k, generate_series($2::bigint + $1 - 1, $2, -1) n CROSS JOIN LATERAL (SELECT now() - n * ($3::float8 * interval '1 s') AS at) w
	WHERE k.name = 'ended'`

// grown is a deployment that grows.
type grown struct {
	*bench
	*database
	server         *server
	pending, ended int
}

// large measures the same beside nothing, beside a tenth of what waits and has ended, and beside all of it; then retention removes a
// thirtieth, and a vacuum follows.
func (b *bench) large(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		d, err := b.database(ctx, s, "large", true)
		if err != nil {
			return err
		}
		g := &grown{bench: b, database: d, server: s}
		if err := g.define(ctx); err != nil {
			return err
		}
		pending, ended := b.scale(50_000, 10_000_000), b.scale(200_000, 30_000_000)
		if b.pending > 0 {
			pending = b.pending
		}
		if b.ended > 0 {
			ended = b.ended
		}
		for _, part := range []int{0, 10, 1} {
			if part > 0 {
				if err := g.grow(ctx, pending/part, ended/part, ended); err != nil {
					return err
				}
			}
			if err := g.look(ctx); err != nil {
				return fmt.Errorf("%s: %w", g.size(), err)
			}
		}
		return g.shrink(ctx)
	})
}

func (g *grown) size() string {
	return fmt.Sprintf("beside %d that wait and %d that ended", g.pending, g.ended)
}

func (g *grown) define(ctx context.Context) error {
	return g.do(ctx,
		`INSERT INTO rowrun.concurrency_limit (name, queue, key_path, max_running) VALUES ('keys', 'limited', '{key}', 1)`,
		`INSERT INTO rowrun.task (name, type, queue) VALUES ('ended', 'NOOP', 'default'), ('held later', 'NOOP', 'held'), ('held by a limit', 'NOOP', 'limited')`,
		`INSERT INTO rowrun.task (name, type, queue, database_id, sequential) SELECT 'held on ' || n, 'NOOP', 'held', 'db' || n, true FROM generate_series(0, 999) n`,
		`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, queues, databases, concurrency)
			SELECT 'bench', now(), '1 day', '{NOOP}', '{held,limited}', array_agg('db' || n), 1 FROM generate_series(0, 999) n`,
		"SET jit = off", "SET plan_cache_mode = force_generic_plan")
}

// grow inserts until there are so many, and shows what that took and takes on the disk. What has ended is spread over 30 days of all.
func (g *grown) grow(ctx context.Context, pending, ended, all int) error {
	const chunk = 1_000_000
	begun := time.Now()
	for ; g.ended < ended; g.ended += min(chunk, ended-g.ended) {
		if err := g.do(ctx, "SET session_replication_role = replica"); err != nil {
			return err
		}
		if _, err := g.Exec(ctx, endedRuns, min(chunk, ended-g.ended), g.ended+1, (30*24*time.Hour).Seconds()/float64(all)); err != nil {
			return fmt.Errorf("ended: %w", err)
		}
		if err := g.do(ctx, "SET session_replication_role = origin"); err != nil {
			return err
		}
	}
	filled := time.Since(begun)
	begun = time.Now()
	before := g.pending
	for ; g.pending < pending; g.pending += min(chunk/10, pending-g.pending) {
		if _, err := g.Exec(ctx, heldRuns, min(chunk/10, pending-g.pending)); err != nil {
			return fmt.Errorf("held: %w", err)
		}
	}
	inserted := time.Since(begun)
	begun = time.Now()
	if err := g.settle(ctx); err != nil {
		return err
	}
	g.table.row(g.size(), fmt.Sprintf("filled in %s and %s (%.0f µs each that waits), promoted, vacuumed, analyzed in %s",
		filled.Round(time.Second), inserted.Round(time.Second), inserted.Seconds()*1e6/float64(max(g.pending-before, 1)), time.Since(begun).Round(time.Second)), "")
	var rows, heap, indexes float64
	if err := g.QueryRow(ctx, `SELECT greatest(reltuples, 1), pg_table_size(oid), pg_indexes_size(oid) FROM pg_class WHERE oid = 'rowrun.task_run'::regclass`).
		Scan(&rows, &heap, &indexes); err != nil {
		return err
	}
	g.table.row("  on the disk", fmt.Sprintf("%.1f GB: table %.0f bytes a row, indexes %.0f", (heap+indexes)/1e9, heap/rows, indexes/rows), "")
	return nil
}

// look measures what users and replicas do.
func (g *grown) look(ctx context.Context) error {
	g.table.row(g.size(), "", "")
	for _, part := range []func(context.Context) error{g.inserts, g.steps, g.works, g.asks, g.commands} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cost is what something takes of the CPU, by a reading in seconds, and of the log in bytes.
func (g *grown) cost(ctx context.Context, seconds func(pid int) (float64, error), pid int, do func() error) (used, written float64, err error) {
	read := func(sign float64) error {
		at, err := g.numbers(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8")
		if err != nil {
			return err
		}
		now, err := seconds(pid)
		used, written = used+sign*now, written+sign*at[0]
		return err
	}
	if err := read(-1); err != nil {
		return 0, 0, err
	}
	if err := do(); err != nil {
		return 0, 0, err
	}
	return used, written, read(1)
}

// inserts shows the server's CPU and log for each of 20,000 runs that wait, in statements of 1,000. They stay.
func (g *grown) inserts(ctx context.Context) error {
	const statements, each = 20, 1000
	used, written, err := g.cost(ctx, measure.CPUSeconds, int(g.PgConn().PID()), func() error {
		for range statements {
			if _, err := g.Exec(ctx, heldRuns, each); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.pending += statements * each
	g.table.row("  INSERT of runs that wait, 1,000 a statement", fmt.Sprintf("CPU %.0f µs, log %.0f bytes each",
		used*1e6/(statements*each), written/(statements*each)), "")
	return g.settle(ctx)
}

// steps ends runs of databases and keys one by one, and promotes what follows each.
func (g *grown) steps(ctx context.Context) error {
	for _, queue := range []string{"held", "limited"} {
		var ends, promotes []float64
		for i := range 10 + g.scale(50, 200) {
			end, promote, err := g.step(ctx, queue, false)
			if err != nil {
				return fmt.Errorf("step %d of queue %s: %w", i, queue, err)
			}
			if i >= 10 {
				ends, promotes = append(ends, end), append(promotes, promote)
			}
		}
		g.table.row("  a run ends, the next is promoted: "+map[string]string{"held": "databases", "limited": "keys of a limit"}[queue],
			fmt.Sprintf("end %s; promote %s", spread(ends, 50, 95), spread(promotes, 50, 95)), "")
	}
	return nil
}

// works starts a replica that serves neither queue of what waits, waits until it has nothing to do any more, and has it work off runs that come at
// once, and single ones.
func (g *grown) works(ctx context.Context) error {
	begun := time.Now()
	r, err := g.serve(ctx, g.url)
	if err != nil {
		return err
	}
	defer r.kill()
	started, err := g.quiet(ctx, r)
	if err != nil {
		return err
	}
	g.table.row("  a replica starts, and has told the stream of all that was inserted", fmt.Sprintf("after %s; CPU of both %.1f s", time.Since(begun).Round(time.Second), started), "")
	const idle = 20 * time.Second
	rests, own, err := cpuDuring(g.server, []*replica{r}, func() error { return wait(ctx, idle) })
	if err != nil {
		return r.blame(err)
	}
	g.table.row("  idle for "+idle.String(), fmt.Sprintf("server %.2f %%, replica %.2f %% of a core", rests/idle.Seconds()*100, own/idle.Seconds()*100), "")
	const jobs = 20_000
	var rate float64
	served, ours, err := cpuDuring(g.server, []*replica{r}, func() (err error) {
		rate, err = g.burst(ctx, jobs)
		return err
	})
	if err != nil {
		return r.blame(err)
	}
	g.ended += jobs
	waits, err := g.startDelays(ctx, 50, 50*g.scale(3, 10))
	if err != nil {
		return r.blame(err)
	}
	g.table.row("  20,000 at once", fmt.Sprintf("%.0f runs/s; CPU a run, their INSERT too: server %.0f µs, replica %.0f µs", rate, served*1e6/jobs, ours*1e6/jobs), "")
	g.table.row("  insert → start", spread(waits, 50, 95, 99), "")
	if err := r.stop(); err != nil {
		return err
	}
	begun = time.Now()
	again, err := g.serve(ctx, g.url)
	if err != nil {
		return err
	}
	defer again.kill()
	if started, err = g.quiet(ctx, again); err != nil {
		return err
	}
	g.table.row("  it starts again, nothing has happened meanwhile", fmt.Sprintf("after %s; CPU of both %.1f s", time.Since(begun).Round(time.Second), started), "")
	return again.stop()
}

// quiet waits until neither the server nor a replica that has just started uses a twentieth of a core, and returns what both used until then, in s.
func (g *grown) quiet(ctx context.Context, r *replica) (used float64, err error) {
	for range 600 {
		served, ours, err := cpuDuring(g.server, []*replica{r}, func() error { return wait(ctx, time.Second) })
		if err != nil {
			return 0, r.blame(err)
		}
		if used += served + ours; served+ours < 0.05 {
			return used, nil
		}
	}
	return 0, r.blame(errors.New("a replica without work isn't idle after 600 s"))
}

// burst inserts runs in one statement, and returns at which rate they went by, from the first start to the last end.
func (g *grown) burst(ctx context.Context, jobs int) (rate float64, err error) {
	var task, first int64
	if err := g.QueryRow(ctx, "SELECT rowrun.define_task('burst', 'NOOP'), coalesce(max(id), 0) FROM rowrun.task_run").Scan(&task, &first); err != nil {
		return 0, err
	}
	if _, err := g.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2::int)", task, jobs); err != nil {
		return 0, err
	}
	if err := g.lastDone(ctx); err != nil {
		return 0, err
	}
	if err := g.allDone(ctx, task, rounds); err != nil {
		return 0, err
	}
	took, err := g.numbers(ctx, `SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM rowrun.task_run WHERE task_id = $1 AND id > $2`, task, first)
	if err != nil {
		return 0, err
	}
	return float64(jobs) / took[0], nil
}

// asks shows how long waiting() takes, for runs that wait for different things.
func (g *grown) asks(ctx context.Context) error {
	ids, err := g.numbers(ctx, `SELECT x.id::float8 FROM rowrun.task k CROSS JOIN LATERAL (
			SELECT r.id FROM rowrun.task_run r WHERE r.task_id = k.id ORDER BY r.id DESC LIMIT 5) x
		WHERE k.name IN ('held later', 'held on 1', 'held on 2', 'held by a limit')`)
	if err != nil {
		return err
	}
	var took []float64
	for _, id := range ids {
		begun := time.Now()
		if _, err := g.Exec(ctx, "SELECT * FROM rowrun.waiting($1)", int64(id)); err != nil {
			return err
		}
		took = append(took, ms(begun))
	}
	g.table.row("  waiting() of a run", spread(took, 50, 100), "")
	return nil
}

// commands shows how long those take that an operator calls at night.
func (g *grown) commands(ctx context.Context) error {
	for _, command := range []string{"run list", "run list --status FAILED", "status", "doctor"} {
		var took []float64
		for range 3 {
			begun := time.Now()
			cmd := exec.CommandContext(ctx, g.rowrun, strings.Fields(command)...)
			cmd.Env = environment(g.url)
			out, err := cmd.CombinedOutput()
			if err != nil && command != "doctor" && command != "status" { // which judge what they find
				return fmt.Errorf("%s: %w: %s", command, err, out)
			}
			took = append(took, ms(begun))
		}
		g.table.row("  rowrun "+command, spread(took, 50, 100), "")
	}
	return nil
}

// shrink has retention remove the oldest thirtieth, and the table vacuumed.
func (g *grown) shrink(ctx context.Context) error {
	count := func() (float64, error) {
		n, err := g.numbers(ctx, "SELECT count(*)::float8 FROM rowrun.task_run WHERE id < 0")
		if err != nil {
			return 0, err
		}
		return n[0], nil
	}
	before, err := count()
	if err != nil {
		return err
	}
	begun := time.Now()
	used, written, err := g.cost(ctx, measure.ServerSeconds, g.server.PID(), func() error {
		cmd := exec.CommandContext(ctx, g.rowrun, "cleanup", "--retention", "696h")
		cmd.Env = environment(g.url)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cleanup: %w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	left, err := count()
	if err != nil {
		return err
	}
	gone := before - left
	if gone <= 0 {
		return fmt.Errorf("cleanup removed none of %.0f", before)
	}
	g.table.row(fmt.Sprintf("retention removes %.0f", gone), fmt.Sprintf("%.0f rows/s; CPU of the server %.0f µs, log %.0f bytes a row",
		gone/took, used*1e6/gone, written/gone), "")
	begun = time.Now()
	if err := g.do(ctx, "VACUUM (INDEX_CLEANUP ON) rowrun.task_run"); err != nil {
		return err
	}
	g.table.row("  vacuum after it", time.Since(begun).Round(100*time.Millisecond).String(), "")
	return nil
}
