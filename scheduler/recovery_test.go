package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

func atOnce(context.Context, *scheduler.Run) (scheduler.Result, error) {
	return scheduler.Result{}, nil
}

// gone leaves the row of a replica that was last alive so long ago.
func (c client) gone(ago time.Duration) {
	c.t.Helper()
	c.exec(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('gone', clock_timestamp() - $1::interval, '1 min', ARRAY[$2])`, ago, workType)
}

// overdue inserts runs of a task that were due that long ago: n of each of these priorities, the later ones first.
func (c client) overdue(n int, ago time.Duration, priorities ...int) {
	c.t.Helper()
	c.exec(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id)
		INSERT INTO rowrun.task_run (task_id, priority, run_at)
		SELECT k.id, p, clock_timestamp() - $2::interval - n * interval '1 ms' FROM k, unnest($3::int[]) p, generate_series(1, $4::int) n`, workType, ago, priorities, n)
}

// left says how many runs are not ended.
func (c client) left() int64 {
	c.t.Helper()
	return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')`)
}

// inOrder holds the starts against the order of a recovery: priority, then how long they are overdue. Batches of several replicas may
// change places, so that a run starts at most so many places from its own.
func (c client) inOrder(places int64) {
	c.t.Helper()
	require.LessOrEqual(c.t, c.int(`SELECT max(abs(due - began)) FROM (
		SELECT row_number() OVER (ORDER BY priority DESC, run_at, id) AS due, row_number() OVER (ORDER BY started_at, priority DESC, run_at, id) AS began
		FROM rowrun.task_run WHERE tick IS NULL) x`), places)
}

// paced writes down each change of the account that a recovery keeps of the starts it grants, for under.
func (c client) paced() {
	c.t.Helper()
	for _, statement := range []string{
		`CREATE TABLE paced (at timestamptz, was timestamptz, "until" timestamptz)`,
		`CREATE FUNCTION note_pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO public.paced VALUES (clock_timestamp(), OLD.paced_until, NEW.paced_until); RETURN NULL; END $$`,
		`CREATE TRIGGER note_pace AFTER UPDATE ON rowrun.recovery FOR EACH ROW WHEN (OLD.paced_until <> NEW.paced_until) EXECUTE FUNCTION note_pace()`,
	} {
		c.exec(statement)
	}
}

// under holds the starts against a rate per second, with so many at once: each was granted before, and what is granted is never accounted for
// ahead of the clock. Some grants are used late on a slow machine, and many starts may come close together then.
func (c client) under(rate, burst float64) {
	c.t.Helper()
	require.Zero(c.t, c.int(`SELECT count(*) FROM paced WHERE "until" > at`))
	require.Positive(c.t, c.int(`SELECT count(*) FROM paced`))
	require.Zero(c.t, c.int(`SELECT count(*) FROM (SELECT started_at, count(*) OVER (ORDER BY started_at) AS n FROM rowrun.task_run WHERE started_at IS NOT NULL) r
		WHERE n > 0.001 + (SELECT sum(least(date_part('epoch', p."until" - p.was) * $1, $2)) FROM paced p WHERE p.at <= r.started_at)`, rate, burst),
		"starts that nobody had granted by then")
}

// What comes after a pause of the deployment that is shorter than a lease, or to a deployment of which others live, is no recovery;
// nor is one begun where nothing is overdue, by an admin, or by who is told not to.
func TestNoRecoveryWithoutAnOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ago    time.Duration
		change func(*scheduler.Config)
		runs   int
	}{
		"no replica ever was":   {runs: 3},
		"a short pause":         {ago: 50 * time.Second, runs: 3},
		"nothing is overdue":    {ago: time.Hour},
		"told not to":           {ago: time.Hour, runs: 3, change: func(c *scheduler.Config) { c.Recovery = scheduler.RecoveryOff }},
		"nobody takes the runs": {ago: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			u := newClient(t, url)
			if c.ago > 0 {
				u.gone(c.ago)
			}
			if name == "nobody takes the runs" {
				u.exec(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ('UNKNOWN') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT id FROM k`)
			}
			u.overdue(c.runs, time.Hour, 0)
			startReplica(t, url, atOnce, c.change)
			poll(t, "the runs", func() bool {
				return u.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`) == int64(c.runs)
			})
			require.Zero(t, u.int(`SELECT count(*) FROM rowrun.recovery`))
			require.Zero(t, u.int(`SELECT count(*) FROM rowrun.stream_note`))
		})
	}
}

// The moment at which a replica was last alive outlives its row: after a stop in good order too.
func TestAStopInGoodOrderIsAnOutageWhenItLasts(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	startReplica(t, url, atOnce, nil).stop()
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.replica_heartbeat`))
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.deployment WHERE last_alive_at > now() - interval '1 min'`))
	c.overdue(3, time.Minute, 0)
	c.exec(`UPDATE rowrun.deployment SET last_alive_at = now() - interval '2 h'`)
	startReplica(t, url, atOnce, nil)
	poll(t, "its end", func() bool { return c.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NOT NULL`) == 1 })
	require.Zero(t, c.left())
	require.EqualValues(t, 3, c.int(`SELECT backlog FROM rowrun.recovery WHERE began_at - last_seen BETWEEN '119 min' AND '121 min'`))
	require.Equal(t, "recovery.began recovery.ended", c.text(`SELECT string_agg(event, ' ' ORDER BY id) FROM rowrun.stream_note`))
}

// When the database has been away for longer than the lease, the replicas that fenced themselves agree on one recovery.
func TestReplicasRecoverFromAnOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var replicas []*replica
	for range 3 {
		replicas = append(replicas, startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) {
			<-time.After(5 * time.Millisecond)
			return scheduler.Result{}, nil
		}, shortLease))
	}
	c := newClient(t, url)
	// Due while the database is away.
	c.exec(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id)
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, clock_timestamp() + interval '1500 ms' + n * interval '1 ms' FROM k, generate_series(1, 500) n`, workType)
	ids := map[string]bool{}
	for _, r := range replicas {
		ids[r.Status().ReplicaID] = true
	}
	over := outage(t, url)
	for _, r := range replicas {
		poll(t, "the fence", func() bool { return r.Status().ReplicaID == "" })
	}
	<-time.After(1500 * time.Millisecond) // the rest of the lease, and what comes due
	over()
	c = newClient(t, url)
	poll(t, "the end of the recovery", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NOT NULL`) == 1 && c.left() == 0
	})
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.recovery`))
	// On a busy machine some were due, and started, before the database was away.
	after := c.int(`SELECT count(*) FROM rowrun.task_run r, rowrun.recovery v WHERE r.started_at >= v.began_at`)
	require.Greater(t, after, int64(100))
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.recovery WHERE backlog <= 500 AND remaining = 0`))
	poll(t, "each start told by its replica", func() bool { return c.int(`SELECT started FROM rowrun.recovery`) == after })
	c.inOrder(2 * 3 * 5)
}

// A recovery has its slots and its rate, for all replicas together, one that comes later included; then each is as before.
func TestARecoveryHasItsSlotsAndItsRate(t *testing.T) {
	t.Parallel()
	const rate, slots = 100, 8
	url := storetest.New(t)
	c := newClient(t, url)
	n := storetest.Count(150, 2000)
	c.paced()
	c.gone(time.Hour)
	c.overdue(n, time.Hour, 0, 5)
	g := newGauge()
	start := func(concurrency int) {
		startReplica(t, url, g.Execute, func(config *scheduler.Config) {
			config.Concurrency, config.RecoveryConcurrency, config.RecoveryRate = concurrency, slots, rate
			config.SweepInterval = 10 * time.Minute // it is woken by what it waits for
		})
	}
	start(2)
	start(2)
	require.EqualValues(t, 2*slots, c.int(`SELECT sum(concurrency) FROM rowrun.replica_heartbeat WHERE replica_id <> 'gone'`))
	poll(t, "some starts", func() bool { return c.left() < int64(2*n-20) })
	start(3)
	require.EqualValues(t, 3*slots, c.int(`SELECT sum(concurrency) FROM rowrun.replica_heartbeat WHERE replica_id <> 'gone'`), "it takes part")
	poll(t, "progress", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NULL AND remaining < backlog AND started > 0 AND rate > 0`) == 1
	})
	poll(t, "the end of the recovery", func() bool { return c.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NOT NULL`) == 1 })
	poll(t, "the end of all", func() bool { return c.left() == 0 })
	require.EqualValues(t, 2*n, c.int(`SELECT backlog FROM rowrun.recovery WHERE remaining = 0`))
	c.inOrder(2 * 3 * slots)
	c.under(rate, rate/10) // the bucket holds a tenth of a second's
	// Most of the rate is used.
	took := float64(c.int(`SELECT (date_part('epoch', max(started_at) - min(started_at)) * 1000)::bigint FROM rowrun.task_run`)) / 1000
	require.Less(t, took, 3*float64(2*n)/rate)
	poll(t, "what was before", func() bool {
		return c.int(`SELECT sum(concurrency) FROM rowrun.replica_heartbeat WHERE replica_id <> 'gone'`) == 7
	})
	// Nothing is held back any more.
	c.overdue(300, 0, 0)
	began := time.Now()
	poll(t, "the end of what came later", func() bool { return c.left() == 0 })
	t.Logf("300 runs after the recovery took %s", time.Since(began))
	require.EqualValues(t, 1, c.int(`SELECT count(*) FROM rowrun.recovery`))
}

// What is due is promoted before anything is claimed: the last that came due is the first of the order here.
func TestARecoveryBeginsWithWhatComesFirst(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	n := storetest.Count(3000, 50000)
	c.exec(`WITH k AS (INSERT INTO rowrun.task (type) VALUES ($1) RETURNING id)
		INSERT INTO rowrun.task_run (task_id, priority, run_at)
		SELECT k.id, n / 100, clock_timestamp() + interval '2 s' + n * interval '1 us' FROM k, generate_series(1, $2::int) n`, workType, n)
	require.EqualValues(t, n, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING'`), "the machine is too slow for this test")
	c.gone(time.Hour)
	poll(t, "that all are due", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE run_at > clock_timestamp()`) == 0
	})
	startReplica(t, url, atOnce, nil)
	poll(t, "the end of all", func() bool { return c.left() == 0 })
	c.inOrder(2 * 5)
}

// A recovery of whose backlog nothing moves ends though something is left, after a lease, and says so.
func TestARecoveryEndsWhereNobodyTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.gone(time.Hour)
	c.overdue(10, time.Hour, 0)
	// Of a type that this replica has, for a target that it hasn't.
	c.exec(`WITH k AS (INSERT INTO rowrun.task (type, database_id, payload) VALUES ('SQL', 'nowhere', '{"sql": "SELECT 1"}') RETURNING id)
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT id, now() - interval '1 h' FROM k`)
	c.exec(`UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE type = 'SQL'`)
	startReplica(t, url, nil, func(config *scheduler.Config) {
		shortLease(config)
		config.Executors = map[string]scheduler.Executor{workType: executorFunc(atOnce), "SQL": executorFunc(atOnce)}
	})
	poll(t, "its end", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NOT NULL AND remaining = 1`) == 1
	})
	require.EqualValues(t, 10, c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`))
	require.Regexp(t, `^warn recovery ended: of the 1 overdue runs that are left none was started for`, c.text(`SELECT level || ' ' || message FROM rowrun.stream_note WHERE event = 'recovery.ended'`))
}

// Ticks that an outage has missed are run as their misfire says: each with ALL, one after the other, also those that come when the
// recovery has ended; one with ONCE, none with SKIP.
func TestARecoveryRunsMissedTicksAsTheirMisfireSays(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	c.exec(`INSERT INTO rowrun.task (name, type, schedule, misfire) SELECT m, $1, '@every 1m', m FROM unnest('{SKIP,ONCE,ALL}'::text[]) m`, workType)
	c.exec(`UPDATE rowrun.task SET created_at = clock_timestamp() - interval '20 min 30 s', scheduled_at = clock_timestamp() - interval '20 min 30 s'`)
	c.exec(`SELECT set_config('rowrun.scheduling', 'on', false)`)
	c.exec(`UPDATE rowrun.task_run r SET tick = k.created_at + interval '1 min', run_at = k.created_at + interval '1 min',
		missed_at = rowrun.missed_at(k, k.created_at + interval '1 min') FROM rowrun.task k WHERE k.id = r.task_id`)
	c.exec(`SELECT set_config('rowrun.scheduling', 'off', false)`)
	c.gone(20 * time.Minute)
	c.overdue(50, 30*time.Minute, 0)
	startReplica(t, url, atOnce, nil)
	ran := func(misfire string) int64 {
		return c.int(`SELECT count(*) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
			WHERE k.name = $1 AND r.tick < k.created_at + interval '20 min 30 s' AND r.status = 'DONE'`, misfire)
	}
	poll(t, "the ticks", func() bool { return ran("ALL") == 20 })
	poll(t, "its end", func() bool { return c.int(`SELECT count(*) FROM rowrun.recovery WHERE ended_at IS NOT NULL`) == 1 })
	require.EqualValues(t, 1, ran("ONCE"))
	require.Zero(t, ran("SKIP"))
	require.EqualValues(t, 3, c.int(`SELECT count(*) FROM rowrun.task_run WHERE tick > clock_timestamp() - interval '10 s' AND status = 'PENDING'`), "the next of each")
	require.Zero(t, c.int(`SELECT count(*) FROM (SELECT r.tick - lag(r.tick) OVER (ORDER BY r.tick) AS step FROM rowrun.task_run r
		JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'ALL' AND r.attempt = 0) x WHERE step <> interval '1 min'`), "each tick, once")
	require.EqualValues(t, 50, c.int(`SELECT count(*) FROM rowrun.task_run WHERE tick IS NULL AND status = 'DONE'`))
}
