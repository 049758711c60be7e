package store_test

import (
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
