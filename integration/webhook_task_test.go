package integration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// failing makes a run of a task without a plan that fails for good.
func (d *database) failing(t *testing.T, name string) {
	t.Helper()
	d.exec(t, `SELECT rowrun.define_task($1, 'NOOP', '{"fail": "no"}'), rowrun.run_task($1)`, name)
}

// wantsFailures makes a webhook for the failures of tasks without a plan, and one for those of a type that nothing has.
func (h *hearer) wantsFailures(t *testing.T, d *database) {
	t.Helper()
	d.exec(t, `INSERT INTO rowrun.webhook (url, secret_ref, events, format, filter) VALUES ($1, $2, '{RUN_FAILED}', 'slack', '{"type": "NOOP"}'),
		($1, $2, '{RUN_FAILED}', 'standard', '{"type": "other"}')`, h.url, h.secretRef)
}

// The sidecar dies again and again between the end that decides RUN_FAILED and the record of its delivery.
func TestNoCrashLosesOrDoublesTheEventOfARun(t *testing.T) {
	t.Parallel()
	crashingProgram(t)
	kills := storetest.Count(2, 20)
	for _, point := range []string{"after-end-commit", "before-send", "after-send", "before-record"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d, hears := newDatabase(t), newHearer(t)
			hears.wantsFailures(t, d)
			for n := range kills {
				d.failing(t, fmt.Sprint("task ", n))
				// Each has its own idea of where the dashboard is; what was once tried keeps its bytes.
				serveUntil(t, d.url, point, append(hears.knows(), "--public-url", fmt.Sprintf("https://replica-%d.example", n))).requireKilled(t)
				d.requireLeft(t)
			}
			finishRuns(t, d, hears, kills)
		})
	}
}

// The same at moments that nobody chose, with runs that fail twice and are tried again in between.
func TestNoKillLosesOrDoublesTheEventOfARun(t *testing.T) {
	t.Parallel()
	d, hears, rng := newDatabase(t), newHearer(t), chance(t)
	hears.wantsFailures(t, d)
	kills := storetest.Count(5, 100)
	for n := range kills {
		r := serve(t, d.url, hears.knows())
		d.exec(t, `SELECT rowrun.define_task($1, 'NOOP', '{"fail": "no"}', max_attempts => 2, retry_delay => '0'), rowrun.run_task($1)`, fmt.Sprint("task ", n))
		pause(t, time.Duration(rng.IntN(30))*time.Millisecond)
		r.kill(t)
	}
	finishRuns(t, d, hears, kills)
}

// awaitEnds waits until every NOOP has ended. What dead replicas were running is ended by hand.
func (d *database) awaitEnds(t *testing.T, alive string) {
	t.Helper()
	eventually(t, patience, "the end of every run", func() bool {
		for _, run := range list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE status = 'RUNNING' AND replica_id <> $1", alive) {
			_, err := d.pool.Exec(t.Context(), "SELECT rowrun.abandon_run($1, 'its replica was killed')", run)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != "RR004" { // it may end after it died, too
				require.NoError(t, err)
			}
		}
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE type = 'NOOP' AND status IN ('PENDING', 'AVAILABLE', 'RUNNING')") == 0
	})
}

// Two replicas are killed again and again while a type has nobody who runs it, and schedules are found that can't be followed:
// the outage is told of once, and each pause.
func TestNoKillLosesOrDoublesAnOutageOrAPause(t *testing.T) {
	t.Parallel()
	d, hears, rng := newDatabase(t), newHearer(t), chance(t)
	d.exec(t, `INSERT INTO rowrun.webhook (url, secret_ref, events) VALUES ($1, $2, '{SCHEDULE_PAUSED,TYPE_ORPHANED}')`, hears.url, hears.secretRef)
	d.exec(t, `SELECT rowrun.define_task('nobody runs it', 'ghost'), rowrun.run_task('nobody runs it')`)
	flags := append(hears.knows(), "--stale-sweep-interval", "200ms")
	kills := storetest.Count(4, 50)
	for n := range kills {
		one, two := serve(t, d.url, flags), serve(t, d.url, flags)
		// As an upgrade of the server leaves a schedule whose time zone it takes away. Its run is due, and finds that out at its end.
		d.exec(t, `INSERT INTO rowrun.task (name, type, schedule) VALUES ($1, 'NOOP', '@daily')`, fmt.Sprint("schedule ", n))
		for _, statement := range []string{
			`ALTER TABLE rowrun.task DISABLE TRIGGER task_schedule_refill`,
			`UPDATE rowrun.task SET time_zone = 'Mars/Olympus' WHERE schedule_error IS NULL AND schedule IS NOT NULL`,
			`ALTER TABLE rowrun.task ENABLE TRIGGER task_schedule_refill`,
			`UPDATE rowrun.task_run SET run_at = now() WHERE status = 'PENDING' AND type = 'NOOP'`,
		} {
			d.exec(t, statement)
		}
		pause(t, time.Duration(rng.IntN(400))*time.Millisecond)
		one.kill(t)
		two.kill(t)
	}
	d.awaitEnds(t, serve(t, d.url, flags).id(t))
	eventually(t, patience, "the outage", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery WHERE event_type = 'TYPE_ORPHANED'") > 0
	})
	hears.requireAll(t, d)
	require.Equal(t, "ghost", d.text(t, "SELECT string_agg(task_type, ' ') FROM rowrun.webhook_delivery WHERE event_type = 'TYPE_ORPHANED'"))
	require.Equal(t, kills, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task WHERE paused AND schedule_error IS NOT NULL"))
	require.Equal(t, kills, ask[int](t, d, "SELECT count(DISTINCT task_id)::int FROM rowrun.webhook_delivery WHERE event_type = 'SCHEDULE_PAUSED'"))
	require.Equal(t, kills+1, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery"))
}

// finishRuns is finish for runs without a plan: each chain has failed for good, is told of once, and that came.
func finishRuns(t *testing.T, d *database, hears *hearer, chains int) {
	t.Helper()
	alive := serve(t, d.url, append(hears.knows(), "--public-url", "https://alive.example")).id(t)
	d.awaitEnds(t, alive)
	require.Equal(t, chains, ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status = 'FAILED' AND retry_run_id IS NULL"), "chains that failed for good")
	hears.requireAll(t, d)
	require.Equal(t, chains, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery"))
	require.Equal(t, chains, ask[int](t, d, `SELECT count(DISTINCT w.root_id)::int FROM rowrun.webhook_delivery w JOIN rowrun.task_run r ON r.id = w.run_id
		WHERE w.event_type = 'RUN_FAILED' AND r.root_id = w.root_id AND r.status = 'FAILED' AND r.retry_run_id IS NULL`))
}
