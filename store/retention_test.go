package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// age makes everything that stands in the tables two days old.
func age(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica;
		UPDATE rowrun.task_run SET created_at = created_at - interval '2 days', finished_at = finished_at - interval '2 days';
		UPDATE rowrun.plan SET created_at = created_at - interval '2 days';
		UPDATE rowrun.webhook_delivery_log SET delivered_at = delivered_at - interval '2 days';
		COMMIT`)
}

// finish runs a task's PENDING run to an end.
func finish(t *testing.T, conn *pgx.Conn, run int64, status string) {
	t.Helper()
	for _, s := range []string{"AVAILABLE", "RUNNING", status} {
		exec(t, conn, `UPDATE rowrun.task_run SET status = $2, replica_id = 'x' WHERE id = $1`, run, s)
	}
}

func newRun(t *testing.T, conn *pgx.Conn, task int64) int64 {
	t.Helper()
	return query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
}

func left(t *testing.T, conn *pgx.Conn) []int64 {
	t.Helper()
	return query[[]int64](t, conn, `SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM rowrun.task_run`)
}

// Of tasks without a plan whole chains go, once their last run ended long enough ago.
func TestRetentionRemovesWholeChains(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	old, oldFirst, mixed := newRun(t, conn, task), newRun(t, conn, task), newRun(t, conn, task)
	waits := newRun(t, conn, task)
	finish(t, conn, old, "DONE")
	finish(t, conn, oldFirst, "FAILED")
	finish(t, conn, mixed, "FAILED")
	oldSecond := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, oldFirst)
	finish(t, conn, oldSecond, "FAILED")
	age(t, conn)
	again := query[int64](t, conn, `SELECT rowrun.retry_run($1)`, mixed)
	finish(t, conn, again, "DONE")
	fresh := newRun(t, conn, task)
	finish(t, conn, fresh, "CANCELED")

	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(3), gone.Runs)
	require.Equal(t, []int64{mixed, waits, again, fresh}, left(t, conn))
}

// Of a plan's task earlier runs go, never the last; a plan as a whole. No status changes, nothing is announced.
func TestRetentionKeepsTheLastRunOfAPlansTask(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	plan := func(project string, tasks int) (ids []int64) {
		id := query[int64](t, conn, `INSERT INTO rowrun.plan (project) VALUES ($1) RETURNING id`, project)
		for range tasks {
			ids = append(ids, query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type) VALUES ($1, 'NOOP') RETURNING id`, id))
		}
		return ids
	}
	over, skipped, partly, empty := plan("over", 1), plan("skipped", 1), plan("partly", 2), plan("empty", 0)
	require.Empty(t, empty)
	finish(t, conn, newRun(t, conn, over[0]), "DONE")
	exec(t, conn, `UPDATE rowrun.task SET skipped = true WHERE id = $1`, skipped[0])
	first := newRun(t, conn, partly[0])
	finish(t, conn, first, "DONE")
	second := newRun(t, conn, partly[0])
	finish(t, conn, second, "FAILED")
	age(t, conn)
	before := query[string](t, conn, `SELECT string_agg(project || status, ' ' ORDER BY project) FROM rowrun.plan_status WHERE project IN ('empty', 'partly')`)
	l := newListener(t, url)

	gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(2), gone.Plans, "over and skipped")
	require.Equal(t, []int64{second}, left(t, conn), "task 2 of that plan never ran: the plan stays, with the last run")
	require.Equal(t, before, query[string](t, conn, `SELECT string_agg(project || status, ' ' ORDER BY project) FROM rowrun.plan_status`))
	require.Empty(t, l.heard(t))

	gone, err = s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Zero(t, gone.Runs+gone.Plans, "a second time there is nothing left to remove")
}

// Plans that are too many for one statement go in several, and one that is too large by itself holds up neither those behind it
// nor what else is old.
func TestRetentionGoesOnBesidePlansThatAreTooLarge(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `INSERT INTO rowrun.plan (name) SELECT CASE n WHEN 3 THEN 'large' ELSE '' END FROM generate_series(1, 60) n;
		INSERT INTO rowrun.task (plan_id, type, skipped) SELECT id, 'NOOP', true FROM rowrun.plan;
		INSERT INTO rowrun.webhook (url) VALUES ('https://example.com/');
		INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, status, delivered_at, created_at, next_attempt_at)
		SELECT 1, 1, 1, 'PIPELINE_COMPLETED', 'msg_1', '{}', 'DELIVERED', at, at, at FROM (SELECT now() - interval '2 days' AS at) x`)
	age(t, conn)
	// 60 take 3 s, the large one a minute, and a statement may take 0.9 s.
	exec(t, conn, `CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_sleep(CASE OLD.name WHEN 'large' THEN 60 ELSE 0.05 END); RETURN OLD; END $$`)
	exec(t, conn, `CREATE TRIGGER a_slow BEFORE DELETE ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION public.slow()`)
	gone, err := open(t, url, 3*time.Second).RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.True(t, store.TookTooLong(err))
	require.ErrorContains(t, err, "plan 3")
	require.Equal(t, store.Removed{Plans: 59, Deliveries: 1}, gone)
	require.Equal(t, "large", query[string](t, conn, `SELECT string_agg(name, ',') FROM rowrun.plan`))
}

// How many plans a statement can take is found out once, and not again by each cleanup.
func TestTheNextRetentionBeginsWithAsManyPlansAsWentWell(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `CREATE SEQUENCE public.tries`)
	exec(t, conn, `CREATE FUNCTION public.most() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM nextval('public.tries'), set_config('my.rows', (coalesce(nullif(current_setting('my.rows', true), ''), '0')::int + 1)::text, true);
			IF current_setting('my.rows')::int > 20 THEN
				RAISE EXCEPTION 'it takes too long' USING ERRCODE = 'query_canceled';
			END IF;
			RETURN OLD;
		END $$`)
	exec(t, conn, `CREATE TRIGGER a_most BEFORE DELETE ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION public.most()`)
	remove := func(plans int64) {
		t.Helper()
		exec(t, conn, `WITH p AS (INSERT INTO rowrun.plan (name) SELECT '' FROM generate_series(1, $1::int) RETURNING id)
			INSERT INTO rowrun.task (plan_id, type, skipped) SELECT p.id, 'NOOP', true FROM p`, plans)
		age(t, conn)
		gone, err := s.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
		require.NoError(t, err)
		require.Equal(t, plans, gone.Plans)
	}
	remove(60)
	exec(t, conn, `ALTER SEQUENCE public.tries RESTART`)
	remove(24)
	require.EqualValues(t, 25, query[int64](t, conn, `SELECT nextval('public.tries')`), "each plan was tried once")
}

// A delivery is kept from its end on, however long its tries took.
func TestRetentionCountsFromTheEndOfADelivery(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	tried, gone := o.webhook(t, "https://tried.example/"), o.webhook(t, "https://gone.example/")
	o.add(t, tried, 1)
	o.add(t, gone, 2)
	exec(t, o.Conn, `UPDATE rowrun.webhook_delivery SET created_at = now() - interval '2 days', next_attempt_at = now() - interval '1 day'`)
	for _, d := range o.claim(t, wants(10, 1)) {
		if d.WebhookID == tried {
			require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "EXHAUSTED", Problem: "no answer"}))
			continue
		}
		n, err := o.store.DisableWebhook(t.Context(), d, store.Try{Code: 410, Problem: "gone"})
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	}
	removed, err := o.store.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Equal(t, []string{"DISABLED", "DISABLED", "EXHAUSTED"}, all[string](t, o.Conn, `SELECT status FROM rowrun.webhook_delivery ORDER BY 1`))
	exec(t, o.Conn, `UPDATE rowrun.webhook_delivery SET leased_until = leased_until - interval '2 days'`)
	removed, err = o.store.RemoveOld(t.Context(), store.Retention{Runs: 24 * time.Hour}, nil)
	require.NoError(t, err)
	require.Equal(t, store.Removed{Deliveries: 3}, removed)
}

// Heartbeat rows go when they are old and their lease is over, and no run stands under their name.
func TestOldHeartbeatsAreRemoved(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES
		('old', now() - interval '2 hours', '1 min'), ('patient', now() - interval '2 hours', '3 hours'),
		('owner', now() - interval '2 hours', '1 min'), ('fresh', now(), '1 min')`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	run := newRun(t, conn, task)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, run)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'owner' WHERE id = $1`, run)
	n, err := s.RemoveOldHeartbeats(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.replica_heartbeat WHERE replica_id = 'old'`))
}
