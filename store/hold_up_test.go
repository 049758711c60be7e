package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// stranger is a session of a role that has no right of ours.
func stranger(t *testing.T, url string) (conn *pgx.Conn, pid int64, role string) {
	t.Helper()
	owner := connect(t, url)
	role = fmt.Sprintf("stranger_%d", time.Now().UnixNano())
	exec(t, owner, `CREATE ROLE `+role+` LOGIN`)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		own, err := pgx.Connect(ctx, url)
		require.NoError(t, err)
		_, err = own.Exec(ctx, `DROP ROLE `+role)
		require.NoError(t, errors.Join(err, own.Close(ctx)))
	})
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	config.User = role
	conn, err = pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	pid = query[int64](t, conn, `SELECT pg_backend_pid()`)
	return conn, pid, role
}

// Whoever holds every advisory lock that we ever took holds up neither gated promotions nor the look for orphans: what
// they lock is rows, which a stranger can't.
func TestAStrangerCantHoldTheLockOfTheGates(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	other, _, _ := stranger(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db') RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	exec(t, other, `SELECT pg_advisory_lock(1920298607, n) FROM generate_series(1, 10) n`)
	_, err := other.Exec(t.Context(), `SELECT FROM rowrun.promotion_lock FOR UPDATE`)
	require.ErrorContains(t, err, "permission denied")
	require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs()`))

	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1000, 'NOBODYS')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1000)`)
	exec(t, conn, `SELECT rowrun.promote_runs()`)
	exec(t, conn, `SELECT rowrun.record_orphans('0', '0')`)
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.orphan_type`))
}

// A pass without its row promotes nothing gated, as nobody could say who is at it; a sweep puts the row back.
func TestTheLockOfTheGatesIsPutBack(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db') RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	exec(t, conn, `DELETE FROM rowrun.promotion_lock`)
	require.Zero(t, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
	require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
}

// Locks that anybody may hold are found, with who holds them and what that keeps from happening.
func TestHoldUpsAreFound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := open(t, url, time.Minute)
	conn := connect(t, url)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db') RETURNING id`)
	run := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() - interval '1 minute') RETURNING id`, task)
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p') RETURNING id`)
	lost := started(t, conn, plainTask(t, conn, ""))
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('r', now() - interval '1 hour', '1 minute')`)
	found, err := s.HoldUps(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	for what, c := range map[string]struct{ lock, want string }{
		"a run to be settled":       {fmt.Sprintf(`BEGIN; SELECT FROM rowrun.task_run WHERE id = %d FOR UPDATE`, lost), fmt.Sprintf("holds run %d of a lost replica", lost)},
		"inserts":                   {`SELECT pg_advisory_lock(1920298607, 3)`, "INSERTs"},
		"slices":                    {`SELECT pg_advisory_lock(1920298606, (extract(epoch FROM clock_timestamp()) * 200 + 5000 + i)::bigint::bit(32)::int) FROM generate_series(1, 500) i`, "INSERTs"},
		"stream":                    {`SELECT pg_advisory_lock(1920298607, 2)`, "the stream"},
		"migrations":                {`SELECT pg_advisory_lock(x'726f7772756e6d67'::bigint)`, "migrations"},
		"a run":                     {fmt.Sprintf(`BEGIN; SELECT FROM rowrun.task_run WHERE id = %d FOR UPDATE`, run), fmt.Sprint("holds run ", run)},
		"the gates":                 {`BEGIN; SELECT FROM rowrun.promotion_lock FOR UPDATE`, "the lock of the gates"},
		"a plan":                    {fmt.Sprintf(`BEGIN; SELECT FROM rowrun.plan WHERE id = %d FOR SHARE`, plan), fmt.Sprint("holds plan ", plan)},
		"what a plan is waited for": {fmt.Sprintf(`SELECT pg_advisory_lock(1920298605, hashint8(%d))`, plan), "run_plan"},
		"the name of a plan":        {`SELECT pg_advisory_lock(1920298608, hashtext('p/new'))`, "plan apply"},
	} {
		var holder *pgx.Conn
		var pid int64
		if strings.Contains(c.lock, "rowrun.") {
			holder = connect(t, url)
			pid = query[int64](t, holder, `SELECT pg_backend_pid()`)
		} else {
			holder, pid, _ = stranger(t, url)
		}
		exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, plan_id) VALUES ('PLAN', $1)`, plan)
		exec(t, holder, c.lock)
		waits := make(chan error, 1)
		waiting := map[string]func() error{
			"run_plan": func() error {
				_, err := connect(t, url).Exec(t.Context(), `SELECT rowrun.run_plan($1)`, plan)
				return err
			},
			"plan apply": func() error {
				_, _, err := s.ApplyPlan(t.Context(), store.WantedPlan{Project: "p", Name: "new"}, func(store.AppliedPlan) (store.Apply, error) { return store.Apply{}, nil })
				return err
			},
		}[c.want]
		if waiting != nil {
			go func() { waits <- waiting() }()
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
					AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
			}, 10*time.Second, 5*time.Millisecond)
		} else {
			waits <- nil
		}
		var found []store.HoldUp
		require.Eventually(t, func() bool { // a row that was locked just now is held for a moment
			var err error
			found, err = s.HoldUps(t.Context())
			return err == nil && len(found) > 0
		}, 10*time.Second, 5*time.Millisecond, what)
		require.Len(t, found, 1, what)
		require.Equal(t, pid, found[0].PID, what)
		require.Contains(t, found[0].String(), c.want, what)
		require.Contains(t, found[0].String(), fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid), what)
		require.NoError(t, holder.Close(t.Context()))
		require.NoError(t, <-waits)
		require.Eventually(t, func() bool {
			found, err := s.HoldUps(t.Context())
			return err == nil && len(found) == 0
		}, 10*time.Second, 5*time.Millisecond, what)
	}
}

// While a backlog is worked on each look meets a session of a replica that claims, each time in another transaction.
func TestASessionThatWorksHoldsNothingUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := open(t, url, time.Minute)
	conn, worker := connect(t, url), connect(t, url)
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE status = 'PENDING'`)
	require.Eventually(t, func() bool { // each try is a transaction that has just begun, unless the machine is busy
		exec(t, worker, `BEGIN; SELECT FROM rowrun.task_run WHERE status = 'AVAILABLE' FOR UPDATE`)
		found, err := s.HoldUps(t.Context())
		exec(t, worker, `COMMIT`)
		return err == nil && len(found) == 0
	}, 20*time.Second, 5*time.Millisecond)
	exec(t, worker, `BEGIN; SELECT FROM rowrun.task_run WHERE status = 'AVAILABLE' FOR UPDATE`)
	require.Eventually(t, func() bool { // one that goes on does
		found, err := s.HoldUps(t.Context())
		return err == nil && len(found) == 1
	}, 20*time.Second, 50*time.Millisecond)
}

// A lock that one of ours also takes is a stranger's by who holds it: beside a writer of the stream that lives, and for slices of the clock
// that are nearly over when anybody looks. Who inserts holds such slices too.
func TestHoldUpsAreJudgedByTheirHolder(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := open(t, url, time.Minute)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET wake_source = 'wal'`)
	exec(t, conn, `UPDATE rowrun.deployment SET stream_replica_id = 'r'`)
	const slices = `SELECT %s((1920298606), (extract(epoch FROM clock_timestamp()) * 200 + i)::bigint::bit(32)::int) FROM generate_series(%d, %d) i`
	for what, c := range map[string]struct{ lock, want string }{
		"the stream":      {`SELECT pg_advisory_lock(1920298607, 2)`, "the stream"},
		"the listener":    {`SELECT pg_advisory_lock(1920298607, 3)`, "INSERTs"},
		"coming slices":   {fmt.Sprintf(slices, "pg_advisory_lock", 100, 900), "INSERTs"},
		"later slices":    {fmt.Sprintf(slices, "pg_advisory_lock", 6000, 6900), "INSERTs"},
		"slices of now":   {fmt.Sprintf(slices, "pg_advisory_lock", -20, 0), "INSERTs"},
		"in a long trans": {"BEGIN; SELECT pg_current_xact_id(); " + fmt.Sprintf(slices, "pg_advisory_xact_lock", 100, 900), "INSERTs"},
	} {
		other, pid, _ := stranger(t, url)
		exec(t, other, c.lock)
		found, err := s.HoldUps(t.Context())
		require.NoError(t, err)
		require.Len(t, found, 1, what)
		require.Equal(t, pid, found[0].PID, what)
		require.Contains(t, found[0].What, c.want, what)
		require.NoError(t, other.Close(t.Context()))
		require.Eventually(t, func() bool {
			found, err := s.HoldUps(t.Context())
			return err == nil && len(found) == 0
		}, 10*time.Second, 5*time.Millisecond, what)
	}
	// Who may insert, who is the sidecar, and who inserts by a function of its owner's.
	for what, role := range map[string]string{"a client": "rowrun_client", "a replica": "rowrun_replica", "a function": ""} {
		ours, _, name := stranger(t, url)
		lock := `BEGIN; SELECT pg_current_xact_id(); ` + fmt.Sprintf(slices, "pg_advisory_xact_lock", -20, 0)
		if role != "" {
			exec(t, conn, `GRANT `+role+` TO `+name)
			lock = fmt.Sprintf(slices, "pg_advisory_lock", -20, 500)
		}
		if role == "rowrun_replica" {
			lock += `; SELECT pg_advisory_lock(1920298607, 2), pg_advisory_lock(1920298607, 3)`
		}
		exec(t, ours, lock)
		found, err := s.HoldUps(t.Context())
		require.NoError(t, err)
		require.Empty(t, found, what)
		require.NoError(t, ours.Close(t.Context()))
	}
}

// A run whose gates are all open, and that somebody's lock keeps from being promoted, says who and how to end it; one that
// is RUNNING waits for nothing.
func TestWaitingNamesWhoHoldsARun(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, holder := connect(t, url), connect(t, url)
	addReplica(t, conn, "r")
	running := query[int64](t, conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM k RETURNING id`)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, running)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db') RETURNING id`)
	run := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	pid := query[int64](t, holder, `SELECT pg_backend_pid()`)
	exec(t, holder, `BEGIN`)
	exec(t, holder, `SELECT FROM rowrun.task_run FOR UPDATE`)
	require.Eventually(t, func() bool {
		return query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.waiting($1) WHERE cause = 'NO_REPLICA'
			AND message LIKE '%SELECT pg_terminate_backend(' || $2::bigint || ')' AND (detail ->> 'pid')::bigint = $2)`, run, pid)
	}, 20*time.Second, 100*time.Millisecond)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.waiting($1)`, running))
	require.Zero(t, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
	exec(t, holder, `COMMIT`)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.waiting($1)`, run))
	require.Equal(t, 1, query[int](t, conn, `SELECT promoted FROM rowrun.promote_runs(true)`))
}

// A run that no gate holds and that is due waits for a replica, whichever: where none is live, that is what people are told.
func TestWaitingSaysThatNoReplicaIsLive(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	run := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '300 ms') RETURNING id`, task)
	causes := func() []string {
		return query[[]string](t, conn, `SELECT array_agg(cause || ': ' || message) FROM rowrun.waiting($1)`, run)
	}
	require.Len(t, causes(), 1)
	require.Contains(t, causes()[0], "RUN_AT")
	require.Eventually(t, func() bool { return slices.Equal(causes(), []string{"NO_REPLICA: no replica is live"}) }, 20*time.Second, 10*time.Millisecond)
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, worker) VALUES ('worker', clock_timestamp(), '1 hour', true)`)
	require.Len(t, causes(), 1)
	addReplica(t, conn, "r")
	require.Empty(t, causes())
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp() - interval '2 hours' WHERE replica_id = 'r'`)
	require.Len(t, causes(), 1)
}

// Where the server's queue of notifications takes no more, nothing that writes asks for it: every way from an INSERT to
// an end commits, in silence. Whether it does is asked in one place.
func TestNothingIsNotifiedWhileTheQueueIsFull(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	require.True(t, query[bool](t, conn, `SELECT rowrun.may_notify()`))
	exec(t, conn, `CREATE OR REPLACE FUNCTION rowrun.may_notify() RETURNS boolean LANGUAGE sql VOLATILE RETURN false`)
	l := newListener(t, url)
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p') RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task (type, plan_id, name) VALUES ('NOOP', $1, 'a'), ('NOOP', NULL, 'b'), ('NOOP', $1, 'c')`, plan)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	exec(t, conn, `UPDATE rowrun.plan SET paused = true; UPDATE rowrun.plan SET paused = false`)
	exec(t, conn, `UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE task_id = (SELECT id FROM rowrun.task WHERE name = 'c')`)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 2)
	endings := []store.Ending{endingOf(pass.Claims[0]), endingOf(pass.Claims[1])}
	_, _, err = s.EndRuns(t.Context(), endings, time.Second)
	require.NoError(t, err)
	require.NoError(t, s.Look(t.Context()))
	require.Empty(t, l.heard(t))
	require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`))
	exec(t, conn, `CREATE OR REPLACE FUNCTION rowrun.may_notify() RETURNS boolean LANGUAGE sql VOLATILE RETURN true`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id IS NULL`)
	require.NotEmpty(t, l.heard(t))
}

// Resuming thousands of plans leaves one mark for each, whatever hangs on them: the passes do the rest.
func TestResumingPlansLeavesOneMarkEach(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	plans := storetest.Count(200, 4000)
	exec(t, conn, `INSERT INTO rowrun.plan (name, paused) SELECT 'p' || i, true FROM generate_series(1, $1::int) i`, plans)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, type, name, database_id) SELECT p.id, 'NOOP', 't' || i, 'db' || i FROM rowrun.plan p, generate_series(1, 5) i`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	for query[bool](t, conn, `SELECT more FROM rowrun.promote_runs(true)`) {
	}
	exec(t, conn, `DELETE FROM rowrun.gate_mark`)
	began := time.Now()
	exec(t, conn, `UPDATE rowrun.plan SET paused = false`)
	t.Logf("%d plans in %s", plans, time.Since(began))
	require.Equal(t, plans, query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`))
	for query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`) {
	}
	require.Equal(t, 5*plans, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
}
