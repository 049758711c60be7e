package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A key that has more turns than its share, as nobody else wants them, owes nothing for them later.
func TestTurnsThatNobodyElseWantsAreNotOwed(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, share, weights) VALUES ('tenants', '{tenant}', 'FAIR', '{"gold": 15}')`,
		[]string{"r"}, 12, map[string]int{"gold": 15})
	for range 20 {
		w.insert("gold", 1)
		w.insert("small", 2)
		require.Len(t, w.turn(0, len(w.running)), 3, "of one pass")
	}
	w.insert("gold", 200)
	w.insert("small", 1)
	for len(w.waiting["small"]) > 0 {
		w.turn(0, 1)
	}
}

// A key that waited behind runs of a higher priority doesn't make up for them, nor are they held against the key that had them.
func TestTurnsOfAHigherPriorityAreNotOwed(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 6, nil)
	normal, high := w.task, query[int64](t, w.conn, `INSERT INTO rowrun.task (type, priority) VALUES ('NOOP', 1) RETURNING id`)
	w.insert("waits", 40)
	w.task = high
	w.insert("urgent", 60)
	require.Len(t, w.turn(0, 0), 6, "in one pass: nobody shares its priority")
	for len(w.waiting["urgent"]) > 0 {
		w.turn(0, min(len(w.running), len(w.waiting["urgent"])))
	}
	require.Len(t, w.waiting["waits"], 40, "while 60 were preferred to them")
	w.task = normal
	for _, r := range w.waiting["waits"] {
		r.came = w.starts // the bound is one among equal priorities
	}
	w.insert("urgent", 1)
	w.insert("late", 3)
	w.turn(0, len(w.running))
	require.Regexp(t, `^(w{0,2}[lu]){3}`, query[string](t, w.conn, `SELECT string_agg(substr(split_part(limit_key, ':', 2), 1, 1), '' ORDER BY turn)
		FROM rowrun.limit_holder WHERE turn > $1`, w.starts-w.slots), "in one pass too")
	for len(w.waiting["urgent"])+len(w.waiting["late"]) > 0 {
		w.turn(0, 1)
	}
}

// Runs of a higher priority go first where some of their keys run out too: no slot goes to a lower one before none of them waits.
func TestAHigherPriorityGoesFirstThoughKeysRunOut(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 6, nil)
	w.insert("waits", 10)
	w.task = query[int64](t, w.conn, `INSERT INTO rowrun.task (type, priority) VALUES ('NOOP', 1) RETURNING id`)
	w.insert("few", 1)
	w.insert("many", 20)
	for ends := 0; len(w.waiting["many"]) >= w.slots; ends = len(w.running) {
		started := w.turn(0, ends)
		require.NotContains(t, started, "waits")
		require.NotEmpty(t, started)
	}
}

// A key whose weight has grown owes the turn that it has just had at the new weight, not at the old one.
func TestATurnIsOwedAtTheWeightThatThereIs(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, share, weights) VALUES ('tenants', '{tenant}', 'FAIR', '{"big": 100}')`,
		[]string{"r"}, 1, map[string]int{"big": 100})
	w.insert("big", 300)
	w.insert("grows", 1)
	for ends := 0; len(w.waiting["grows"]) > 0; ends = 1 {
		w.turn(0, ends)
	}
	exec(t, w.conn, `UPDATE rowrun.concurrency_limit SET weights = '{"big": 100, "grows": 100}'`)
	w.weights["grows"] = 100
	w.insert("grows", 1)
	for len(w.waiting["grows"]) > 0 {
		w.turn(0, 1)
	}
}

// Who comes while a pass is under way has its turn behind as many as had room when that pass looked for those who wait: slots that come free
// meanwhile are the next pass's.
func TestWhoComesBesideAPassHasItsTurnInTheNext(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 4, nil)
	w.insert("big", 20)
	require.Len(t, w.turn(0, 0), 4)
	exec(t, w.conn, `ALTER FUNCTION rowrun.promote_runs(boolean, boolean, integer, rowrun.claim_request) SET lock_timeout = '1min'`)
	url := w.conn.Config().ConnString()
	other, passes := connect(t, url), connect(t, url)
	exec(t, other, `BEGIN`)
	exec(t, other, `INSERT INTO rowrun.limit_turn (limit_key, limit_id, weight, starts_at) VALUES ('1:early', 1, 1, 0)`)
	w.insert("early", 1)
	promoted := make(chan int, 1)
	go func() {
		var n int
		_ = passes.QueryRow(t.Context(), `SELECT promoted FROM rowrun.promote_runs()`).Scan(&n)
		promoted <- n
	}()
	require.Eventually(t, func() bool {
		return query[bool](t, w.conn, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))`, int32(other.PgConn().PID()))
	}, 10*time.Second, 5*time.Millisecond, "the fault: the pass has read the marks, and waits")
	endClaims(t, w.s, w.running)
	w.running = nil
	w.insert("late", 1)
	exec(t, other, `ROLLBACK`)
	require.Zero(t, <-promoted)
	require.Contains(t, w.turn(0, 0), "late")
}
