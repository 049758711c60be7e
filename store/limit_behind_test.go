package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// shutWorld is a FAIR world of one slot, beside whose limit another one, paused, holds runs of the type HTTP. held inserts such
// runs of a key.
func shutWorld(t *testing.T, limit string) (w *fairWorld, held func(key string, n int)) {
	t.Helper()
	w = newFairWorld(t, limit, []string{"r"}, 1, nil)
	exec(t, w.conn, `INSERT INTO rowrun.concurrency_limit (name, type, not_before) VALUES ('paused', 'HTTP', now() + interval '1 h')`)
	task := query[int64](t, w.conn, `INSERT INTO rowrun.task (type, payload) VALUES ('HTTP', '{"url": "http://127.0.0.1/"}') RETURNING id`)
	return w, func(key string, n int) {
		exec(t, w.conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT $1, jsonb_build_object('tenant', $2::text) FROM generate_series(1, $3::int)`, task, key, n)
	}
}

// What another limit holds keeps nobody: not runs of other keys, whose turn comes later, nor those of its key that come behind.
func TestWhatAnotherLimitHoldsKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]string{
		"turns": fairLimit, "turns and places": `INSERT INTO rowrun.concurrency_limit (name, key_path, share, max_running) VALUES ('tenants', '{tenant}', 'FAIR', 1)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, held := shutWorld(t, limit)
			turn := func() []string {
				var started []string
				for range 3 { // what is held is found out by one pass
					started = append(started, w.turn(0, len(w.running))...)
				}
				return started
			}
			held("a", 3)
			w.insert("b", 1)
			require.Equal(t, []string{"b"}, turn(), "of another key")
			w.insert("a", 1)
			require.Equal(t, []string{"a"}, turn(), "of the same key")
			for _, key := range []string{"c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
				held(key, 2)
			}
			w.insert("m", 1)
			require.Equal(t, []string{"m"}, turn(), "behind many keys")
			w.insert("c", 2)
			w.insert("n", 1)
			require.ElementsMatch(t, []string{"c", "c", "n"}, turn(), "of one of them")
			require.Equal(t, 23, query[int](t, w.conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING'`))

			exec(t, w.conn, `UPDATE rowrun.concurrency_limit SET not_before = NULL WHERE name = 'paused'`)
			for range 23 {
				endClaims(t, w.s, w.running)
				round, err := w.s.Work(t.Context(), store.Trip{
					Replica: "r", Capabilities: store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP", "HTTP"}},
					Promote: store.PromoteDue, Want: 1, Claim: store.ClaimAny,
				})
				require.NoError(t, err)
				require.Len(t, round.Claims, 1, "the pause is over")
				w.running = round.Claims
			}
		})
	}
}

// More keys than one look takes are put down one after the other, so that one that comes behind all of them has its turn.
func TestAKeyBehindHundredsThatAnotherLimitHoldsHasItsTurn(t *testing.T) {
	t.Parallel()
	w, held := shutWorld(t, fairLimit)
	held("a", 1)
	exec(t, w.conn, `INSERT INTO rowrun.task_run (task_id, input) SELECT r.task_id, jsonb_build_object('tenant', 'a' || n) FROM rowrun.task_run r, generate_series(1, 300) n`)
	w.insert("z", 1)
	var started []string
	for range 3 {
		started = append(started, w.turn(0, len(w.running))...)
	}
	require.Equal(t, []string{"z"}, started)
	require.Equal(t, 301, query[int](t, w.conn, `SELECT count(*) FROM rowrun.limit_turn WHERE shut_by <> ''`), "each under the limit that it needs")
}

// A run waits behind a sequential one for which its limit has just got room. Where another run takes that place it goes on.
func TestARunThatWaitedBehindOneWithALimitGoesOnWhenThePlaceIsTaken(t *testing.T) {
	t.Parallel()
	conn, _, other := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('one', 'HTTP', 1)`)
	promoteAll(t, conn)
	task := func(kind, database string, sequential bool) int64 {
		return query[int64](t, conn, `INSERT INTO rowrun.task (type, payload, database_id, sequential) VALUES ($1, '{"url": "http://127.0.0.1/"}', nullif($2, ''), $3) RETURNING id`, kind, database, sequential)
	}
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,HTTP}'`)
	holder := newRun(t, conn, task("HTTP", "", false))
	promoteAll(t, conn)
	require.Equal(t, "AVAILABLE", statusOf(t, conn, holder))
	sequential := newRun(t, conn, task("HTTP", "a", true))
	promoteAll(t, conn)
	require.Equal(t, "LIMIT", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE id = $1`, sequential))
	exec(t, conn, `UPDATE rowrun.task SET database_id = 'a' WHERE id = $1`, other)
	behind := newRun(t, conn, other)
	exec(t, conn, `DELETE FROM rowrun.gate_mark`)
	exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, run_id) VALUES ('RUN', $1)`, behind)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1`, holder)
	exec(t, conn, `SELECT rowrun.promote_runs(false, true, 1)`) // takes the first mark
	require.Equal(t, "DATABASE", query[string](t, conn, `SELECT cause FROM rowrun.task_run WHERE id = $1`, behind))

	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, priority) SELECT task_id, 9 FROM rowrun.task_run WHERE id = $1`, holder)
	promoteAll(t, conn)
	require.Equal(t, "PENDING", statusOf(t, conn, sequential))
	require.Equal(t, "AVAILABLE", statusOf(t, conn, behind))
}

// However many sequential runs of a database wait for a key that has no room, a judgement asks one of them.
func TestOneOfThoseThatWaitForAKeyIsAskedOnADatabase(t *testing.T) {
	t.Parallel()
	conn, _, other := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('none', 'HTTP', 0)`)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,HTTP}'`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, payload, database_id, sequential) VALUES (20, 'HTTP', '{"url": "http://127.0.0.1/"}', 'a', true)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 20 FROM generate_series(1, 10)`)
	promoteAll(t, conn)
	promoteAll(t, conn)
	require.Equal(t, 10, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE cause = 'LIMIT'`))
	exec(t, conn, `UPDATE rowrun.task SET database_id = 'a' WHERE id = $1`, other)
	run := newRun(t, conn, other)
	exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, limit_key) SELECT 'LIMIT', limit_wait FROM rowrun.task_run WHERE limit_wait IS NOT NULL LIMIT 1`)
	open, calls := callsOf(t, conn, fmt.Sprintf(`SELECT count(*) FROM rowrun.judge(ARRAY[%d::bigint], NULL, clock_timestamp(), 0) j WHERE j.cause IS NULL`, run))
	require.Equal(t, 1, open)
	require.Equal(t, 1, calls["limit_holding"])
}
