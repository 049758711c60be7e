package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// A run whose turn it is waits for whatever else there is to wait for, and goes when that is over.
func TestATurnIsNotAllThatARunWaitsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hold, free    string
		status, cause string
	}{
		"a task that is paused":  {`UPDATE rowrun.task SET paused = true`, `UPDATE rowrun.task SET paused = false`, "PENDING", "PAUSED"},
		"a task that is skipped": {`UPDATE rowrun.task SET skipped = true`, "", "CANCELED", ""},
		"a replica": {
			`UPDATE rowrun.replica_heartbeat SET types = '{OTHER}'`, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP}'`, "PENDING", "NO_REPLICA",
		},
		"another limit": {
			`INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('none', 0)`, `SELECT rowrun.delete_limit('none')`, "PENDING", "LIMIT",
		},
		"what a 429 has held back": {
			`INSERT INTO rowrun.limit_bucket (limit_key, held_until) SELECT limit_wait, now() + interval '1 h' FROM rowrun.task_run`,
			`DELETE FROM rowrun.limit_bucket`, "PENDING", "LIMIT",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, fairLimit)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "a"}')`, task)
			exec(t, conn, c.hold)
			for range 3 {
				require.Empty(t, work(t, s, 10).Claims)
			}
			var status, cause string
			require.NoError(t, conn.QueryRow(t.Context(), `SELECT r.status, coalesce((SELECT w.cause FROM rowrun.waiting(r.id) w), '') FROM rowrun.task_run r`).Scan(&status, &cause))
			require.Equal(t, []string{c.status, c.cause}, []string{status, cause})
			if c.free != "" {
				exec(t, conn, c.free)
				exec(t, conn, `SELECT rowrun.promote_runs(true)`)
				promoteAll(t, conn)
				require.Equal(t, map[string]int{"AVAILABLE": 1}, statusCounts(t, conn))
			}
		})
	}
}

// Of two that wait for their turn, until there is a slot, one goes where they are each other's: on a database, and in a plan that has one slot by then.
func TestATurnIsNotAllThatTwoRunsWaitFor(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]string{
		"a database": `WITH k AS (INSERT INTO rowrun.task (type, database_id, sequential) VALUES ('NOOP', 'db', true) RETURNING id)
			INSERT INTO rowrun.task_run (task_id, input) SELECT k.id, jsonb_build_object('tenant', n) FROM k, generate_series(1, 2) n`,
		"a plan": `DO $$ DECLARE p bigint; BEGIN
				INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('p', 2) RETURNING id INTO p;
				INSERT INTO rowrun.task (type, name, plan_id, payload) SELECT 'NOOP', n::text, p, jsonb_build_object('tenant', n) FROM generate_series(1, 2) n;
				PERFORM rowrun.run_plan(p);
			END $$`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, _ := limitedTask(t, fairLimit)
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET databases = '{db}', concurrency = 0`)
			exec(t, conn, runs)
			promoteAll(t, conn)
			require.Equal(t, 2, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause = 'LIMIT'`))
			exec(t, conn, `UPDATE rowrun.plan SET parallel_limit = 1`)
			promoteAll(t, conn)
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 10`)
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			var claims int
			for range 3 {
				claims += len(work(t, s, 10).Claims)
			}
			require.Equal(t, 1, claims)
			require.Equal(t, map[string]int{"RUNNING": 1, "PENDING": 1}, statusCounts(t, conn))
		})
	}
}

// That a turn is all is said of no run that waits for its time, or for other jobs: a clock that has gone back, and a job that was put behind another one, make such runs.
func TestATurnIsAllOfARunThatIsDueAndBehindNone(t *testing.T) {
	t.Parallel()
	conn, _, task := limitedTask(t, fairLimit)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "a"}')`, task)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input, after) VALUES ($1, '{"tenant": "b"}', '{1}')`, task)
	alone := func(run int, at string) bool {
		return query[bool](t, conn, `SELECT s.limit_keys IS NOT NULL FROM rowrun.share_alone(ARRAY[$1::bigint], clock_timestamp() + $2::interval, 1000) s`, run, at)
	}
	require.True(t, alone(1, "0"))
	require.False(t, alone(1, "-1 min"), "it isn't due")
	require.False(t, alone(2, "0"), "it waits for the other one")
}

// Whom a pass starts at once beside a change that gives their limit a rate, or makes another one, has taken its tokens.
func TestARateThatComesBesideTurnsGivesTheirTokens(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"added": `UPDATE rowrun.concurrency_limit SET rate = 6, per = '1 h'`,
		"made":  `INSERT INTO rowrun.concurrency_limit (name, type, rate, per) VALUES ('rate', 'NOOP', 6, '1 h')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, fairLimit)
			promoteAll(t, conn)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, '{"tenant": "a"}' FROM generate_series(1, 5)`, task)
			stopped := stopBefore(t, conn, "RUNNING")
			started := make(chan int, 1)
			go func() {
				round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Claim: store.ClaimAnyAndFresh, Want: 5})
				if err != nil {
					t.Log(err)
				}
				started <- len(round.Claims)
			}()
			stopped()
			exec(t, conn, change)
			exec(t, conn, `SELECT pg_advisory_unlock(7)`)
			require.Equal(t, 5, <-started)
			exec(t, conn, `DROP TRIGGER waits ON rowrun.task_run`)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, '{"tenant": "a"}' FROM generate_series(1, 5)`, task)
			require.Len(t, append(work(t, s, 5).Claims, work(t, s, 5).Claims...), 1)
		})
	}
}

// A FAIR limit has its other bounds too: places and tokens of each key.
func TestAFairLimitHasItsOtherBoundsToo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bounds      string
		first, next int // how many go, and when these have ended
	}{"places": {`max_running = 1`, 1, 1}, "tokens": {`rate = 2, per = '1 h'`, 2, 0}, "a pause": {`not_before = now() + interval '1 h'`, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, fairLimit)
			exec(t, conn, `UPDATE rowrun.concurrency_limit SET `+c.bounds)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, '{"tenant": "a"}' FROM generate_series(1, 5)`, task)
			first := append(work(t, s, 10).Claims, work(t, s, 10).Claims...)
			require.Len(t, first, c.first)
			endClaims(t, s, first)
			require.Len(t, work(t, s, 10).Claims, c.next)
		})
	}
}

// A key that a limit of its own lets none go of weighs nothing.
func TestAKeyWithoutPlacesWeighsNothing(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, share, max_running) VALUES ('tenants', '{tenant}', 'FAIR', 2)`, []string{"r"}, 5, nil)
	w.insert("a", 5)
	w.insert("b", 5)
	started := 0
	for range 4 {
		started += len(w.turnOf(0, 0, 2))
		exec(t, w.conn, `INSERT INTO rowrun.gate_mark (kind, limit_key) VALUES ('LIMIT', '1:')`) // as the end of another one leaves
		w.requireSums()
	}
	require.Equal(t, 4, started)
}

// Keys that were put down, as another limit held all of their runs, have their turns again when that is deleted.
func TestKeysThatWerePutDownGoOnWithoutTheLimitThatHeldThem(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, fairLimit)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 1`)
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('none', '{kind}', 0)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', n / 2, 'kind', 'held') FROM generate_series(0, 5) n`, task)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, '{"tenant": "free"}' FROM generate_series(1, 100)`, task)
	some := func(rounds int) {
		for range rounds {
			claims := work(t, s, 1).Claims
			require.Len(t, claims, 1)
			endClaims(t, s, claims)
		}
	}
	some(5)
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.limit_turn WHERE shut_by <> ''`))
	exec(t, conn, `SELECT rowrun.delete_limit('none')`)
	some(40)
	require.Zero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND input ? 'kind'`))
}
