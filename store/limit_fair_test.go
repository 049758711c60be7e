package store_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

const fairLimit = `INSERT INTO rowrun.concurrency_limit (name, key_path, share, weights) VALUES ('tenants', '{tenant}', 'FAIR', '{"gold": 3}')`

// fairWorld is a FAIR limit, replicas with slots, and what has started under it.
type fairWorld struct {
	t        *testing.T
	conn     *pgx.Conn
	s        *store.Store
	task     int64
	replicas []string
	slots    int // of all of them
	running  []store.Claim
	weights  map[string]int
	waiting  map[string][]*fairRun // in the order of their turns
	starts   int
}

// fairRun is a run that waits: how many had started when it came, and which place it had among those of its key.
type fairRun struct {
	id, nth   int64
	key       string
	came      int
	contested map[string]bool // the keys that had runs waiting since
}

func newFairWorld(t *testing.T, limit string, replicas []string, slots int, weights map[string]int) *fairWorld {
	t.Helper()
	conn, s, task := limitedTask(t, limit)
	exec(t, conn, `DELETE FROM rowrun.replica_heartbeat`)
	for _, id := range replicas {
		addReplica(t, conn, id)
	}
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = $1`, slots)
	return &fairWorld{t: t, conn: conn, s: s, task: task, replicas: replicas, slots: slots * len(replicas), weights: weights, waiting: map[string][]*fairRun{}}
}

func (w *fairWorld) weight(key string) int { return max(w.weights[key], 1) }

func (w *fairWorld) insert(key string, n int) {
	w.t.Helper()
	for _, id := range query[[]int64](w.t, w.conn, `WITH r AS (INSERT INTO rowrun.task_run (task_id, input)
		SELECT $1, jsonb_build_object('tenant', $2::text) FROM generate_series(1, $3) RETURNING id) SELECT array_agg(id ORDER BY id) FROM r`, w.task, key, n) {
		w.waiting[key] = append(w.waiting[key], &fairRun{id: id, key: key, nth: int64(len(w.waiting[key]) + 1), came: w.starts, contested: map[string]bool{}})
	}
	w.contest()
}

// contest notes for all that wait who else does.
func (w *fairWorld) contest() {
	for _, runs := range w.waiting {
		for _, r := range runs {
			for key, others := range w.waiting {
				if len(others) > 0 {
					r.contested[key] = true
				}
			}
		}
	}
}

// turn ends so many runs, and lets a replica promote and claim for the slots. It returns the keys of those that started.
func (w *fairWorld) turn(replica, ends int) (started []string) {
	w.t.Helper()
	return w.turnOf(replica, ends, w.slots)
}

// turnOf claims at most so many, and leaves the others AVAILABLE.
func (w *fairWorld) turnOf(replica, ends, most int) (started []string) {
	w.t.Helper()
	endClaims(w.t, w.s, w.running[:ends])
	w.running = w.running[ends:]
	want := min(w.slots-len(w.running), most)
	round, err := w.s.Work(w.t.Context(), store.Trip{
		Replica: w.replicas[replica], Capabilities: noop(), Promote: store.PromoteDue, Want: want, Claim: store.Claiming(replica % 3),
	})
	require.NoError(w.t, err)
	for _, c := range round.Claims {
		started = append(started, w.start(c))
	}
	return started
}

// start holds a start against the bound: the n-th run of a key starts after at most n * (sum of weights / its weight) + slots starts
// since it came.
func (w *fairWorld) start(c store.Claim) string {
	w.t.Helper()
	w.starts++
	w.running = append(w.running, c)
	for key, runs := range w.waiting {
		for i, r := range runs {
			if r.id != c.ID {
				continue
			}
			require.Zero(w.t, i, "run %d of %s started before those that came before it", r.id, key)
			sum := 0
			for other := range r.contested {
				sum += w.weight(other)
			}
			bound := float64(r.nth)*float64(sum)/float64(w.weight(key)) + float64(w.slots)
			require.LessOrEqual(w.t, float64(w.starts-r.came), bound, "start of run %d, the %d. of %s, weight %d of %d", r.id, r.nth, key, w.weight(key), sum)
			w.waiting[key] = runs[1:]
			return key
		}
	}
	require.Fail(w.t, "a run that nobody waits for has started")
	return ""
}

// requireSums holds the sums of weights that passes go by to the keys that wait.
func (w *fairWorld) requireSums() {
	w.t.Helper()
	require.Zero(w.t, query[int](w.t, w.conn, `SELECT count(*) FROM rowrun.limit_clock c WHERE c.weighed
		AND c.weight IS DISTINCT FROM (SELECT sum(x.weight) FROM rowrun.limit_turn x WHERE x.limit_id = c.limit_id AND x.priority IS NOT NULL)`))
}

// A tenant with ten runs that comes behind one with many gets its turns, and one with a weight as many more.
func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 2, map[string]int{"gold": 3})
	w.insert("big", 500)
	w.turn(0, 0)
	w.insert("small", 10)
	w.insert("gold", 100)
	order := map[string]int{}
	for range 50 {
		for _, key := range w.turn(0, 1) {
			order[key]++
		}
	}
	require.Equal(t, map[string]int{"big": 10, "small": 10, "gold": 30}, order)
}

// A key with a large weight has its turns among those of others, not in a row: it is never more than one ahead of its share.
func TestALargeWeightIsNotServedInARow(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, share, weights) VALUES ('tenants', '{tenant}', 'FAIR', '{"gold": 10}')`,
		[]string{"r"}, 1, map[string]int{"gold": 10})
	w.insert("gold", 30)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		w.insert(key, 3)
	}
	gold := 0
	for n := 1; n <= 40; n++ {
		started := w.turn(0, len(w.running))
		require.Len(t, started, 1)
		if started[0] == "gold" {
			gold++
		}
		require.InDelta(t, float64(n)/2, gold, 1, "of %d starts", n)
	}
}

// Runs that are AVAILABLE are claimed in the order of their turns, however old they are: one that came later is no longer AVAILABLE than
// others because of that.
func TestClaimsFollowTheTurns(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 6, nil)
	w.insert("big", 100)
	w.turnOf(0, 0, 2)
	w.insert("small", 20)
	order := ""
	for range 20 {
		for _, key := range w.turnOf(0, 1, 1) {
			order += key[:1]
		}
	}
	require.Equal(t, "bbbbb"+"sbsbsbsbsbsbsbs", order, "four that were AVAILABLE, then each in turn")
}

// The bound holds whatever comes, with keys of many weights that come, go and come again, over several replicas.
func TestTurnsComeWithinTheirBound(t *testing.T) {
	t.Parallel()
	seed := storetest.Seed(t)
	rnd := rand.New(rand.NewPCG(uint64(seed), 0))
	weights := map[string]int{"a": 1 + rnd.IntN(10), "b": 1 + rnd.IntN(3), "c": 1 + rnd.IntN(1000)}
	w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, share) VALUES ('tenants', '{tenant}', 'FAIR')`, []string{"r", "s"}, 1+rnd.IntN(4), weights)
	exec(t, w.conn, `UPDATE rowrun.concurrency_limit SET weights = $1`, weights)
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	w.insert("d", 200)
	for range storetest.Count(150, 2000) {
		if rnd.IntN(3) == 0 {
			if key := keys[rnd.IntN(len(keys))]; len(w.waiting[key]) == 0 {
				w.insert(key, 1+rnd.IntN(20))
			}
		}
		if rnd.IntN(5) == 0 { // a replica is killed in the middle of a pass
			exec(t, w.conn, `BEGIN`)
			query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs()`)
			exec(t, w.conn, `ROLLBACK`)
		}
		w.turn(rnd.IntN(2), rnd.IntN(min(len(w.running), 3)+1))
		w.requireSums()
	}
	require.Greater(t, w.starts, 50)
}

// Another limit without a key has its places given by turns, and what the pause of a task keeps AVAILABLE takes nobody's turn.
func TestPlacesOfAnotherLimitAreGivenByTurns(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 4, nil)
	exec(t, w.conn, `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('all', 1)`)
	w.insert("big", 50)
	w.insert("small", 5)
	order := map[string]int{}
	for range 10 {
		started := w.turn(0, len(w.running))
		require.Len(t, started, 1)
		order[started[0]]++
	}
	require.Equal(t, map[string]int{"big": 5, "small": 5}, order)

	exec(t, w.conn, `SELECT rowrun.delete_limit('all')`)
	query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs()`) // four, or three and the one that runs
	require.Equal(t, 3, query[int](t, w.conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
	exec(t, w.conn, `UPDATE rowrun.task SET paused = true`)
	other := query[int64](t, w.conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	exec(t, w.conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "third"}')`, other)
	for range 3 {
		query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs(true)`)
	}
	require.Equal(t, "AVAILABLE", query[string](t, w.conn, `SELECT status FROM rowrun.task_run WHERE task_id = $1`, other))
}

// A run that isn't its key's turn says so; a limit that isn't FAIR any more lets go in the order of time.
func TestWhoWaitsForATurnSaysSo(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit, []string{"r"}, 1, nil)
	w.insert("big", 3)
	w.turn(0, 0)
	require.Equal(t, []string{"LIMIT FAIR 1", "LIMIT FAIR 1"}, query[[]string](t, w.conn,
		`SELECT array_agg(concat_ws(' ', cause, detail ->> 'share', detail ->> 'slots')) FROM rowrun.waiting()`))
	exec(t, w.conn, `UPDATE rowrun.concurrency_limit SET share = 'NONE'`)
	query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs()`)
	require.Equal(t, 2, query[int](t, w.conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'AVAILABLE'`))
	require.Zero(t, query[int](t, w.conn, `SELECT count(*) FROM rowrun.limit_turn`))
	exec(t, w.conn, `UPDATE rowrun.concurrency_limit SET key_path = '{tenant}', share = 'FAIR'`)
	code, _ := refused(t, w.conn, `UPDATE rowrun.concurrency_limit SET key_path = NULL`)
	require.Equal(t, "23514", code)
}

// A run whose priority has grown while it waited goes before those of lower ones: whatever their keys, where keys take turns, and
// though another's judgement is due, where a token comes.
func TestAPriorityThatHasGrownHoldsBehindLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]string{
		"turns":  fairLimit,
		"a rate": `INSERT INTO rowrun.concurrency_limit (name, rate, per, burst) VALUES ('slow', 6, '1 h', 1)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFairWorld(t, limit, []string{"r"}, 1, nil)
			exec(t, w.conn, `UPDATE rowrun.task SET priority = 2`)
			w.insert("big", 3)
			aging := query[int64](t, w.conn, `INSERT INTO rowrun.task (type, aging) VALUES ('NOOP', '1 min') RETURNING id`)
			low := query[int64](t, w.conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "small"}') RETURNING id`, aging)
			turn := func(ends []store.Claim) []store.Claim {
				endClaims(t, w.s, ends)
				round, err := w.s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteDue, Want: 1, Claim: store.ClaimAny})
				require.NoError(t, err)
				return round.Claims
			}
			first := turn(nil)
			require.Len(t, first, 1)
			require.NotEqual(t, low, first[0].ID)

			waited(t, w.conn, 5*time.Minute, low)
			raised, opened, err := w.s.AgeRuns(t.Context(), 10)
			require.NoError(t, err)
			require.Equal(t, 1, raised)
			require.True(t, opened)
			require.Empty(t, turn(nil), "there is no room")
			exec(t, w.conn, `UPDATE rowrun.limit_bucket SET counted_at = counted_at - interval '11 min'`)
			exec(t, w.conn, `UPDATE rowrun.task_run SET judge_at = now(), prev_status = NULL WHERE judge_at IS NOT NULL`)
			next := turn(first)
			require.Len(t, next, 1)
			require.Equal(t, low, next[0].ID)
		})
	}
}

// A run that is judged before a key's, and is held, keeps that from no turn: neither one that no replica takes, nor one that another
// limit holds.
func TestARunThatIsHeldKeepsNobodyFromTheTurn(t *testing.T) {
	t.Parallel()
	for name, types := range map[string]string{"no replica": "{NOOP}", "another limit": "{NOOP,OTHER}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, type, key_path, share) VALUES ('tenants', 'NOOP', '{tenant}', 'FAIR')`, []string{"r"}, 10, nil)
			exec(t, w.conn, `UPDATE rowrun.replica_heartbeat SET types = $1`, types)
			exec(t, w.conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('all', NULL, 2), ('other', 'OTHER', 1)`)
			w.insert("first", 1)
			query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs()`)
			other := query[int64](t, w.conn, `INSERT INTO rowrun.task (type, priority) VALUES ('OTHER', 5) RETURNING id`)
			if types != "{NOOP}" {
				exec(t, w.conn, `UPDATE rowrun.task_run SET status = 'CANCELED'`)
				exec(t, w.conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, other)
				query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs()`)
			}
			require.Equal(t, 1, statusCounts(t, w.conn)["AVAILABLE"], "of two places one is taken")
			exec(t, w.conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "second"}'), ($2, '{}')`, w.task, other)
			for more := true; more; {
				more = query[bool](t, w.conn, `SELECT promoted > 0 OR more OR coalesce(next_ms < 1, false) FROM rowrun.promote_runs()`)
			}
			require.Equal(t, "AVAILABLE", query[string](t, w.conn, `SELECT status FROM rowrun.task_run WHERE input ->> 'tenant' = 'second'`))
			require.Equal(t, 1, statusCounts(t, w.conn)["PENDING"], "the other one is held")
		})
	}
}

// A limit made after its INSERT holds the run at the head of a key: the run behind it, which that limit doesn't apply to, takes its turn at once.
func TestARunThatALaterLimitHoldsKeepsNobodyFromTheTurn(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, share, max_running) VALUES ('tenants', '{tenant}', 'FAIR', 1)`, []string{"r"}, 10, nil)
	exec(t, w.conn, `UPDATE rowrun.replica_heartbeat SET types = '{NOOP,OTHER}'`)
	w.insert("one", 2)
	query[int](t, w.conn, `SELECT promoted FROM rowrun.promote_runs()`)
	require.Equal(t, map[string]int{"AVAILABLE": 1, "PENDING": 1}, statusCounts(t, w.conn), "of one place one is taken")
	exec(t, w.conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('later', 'NOOP', 1)`)
	behind := query[int64](t, w.conn, `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('OTHER') RETURNING id)
		INSERT INTO rowrun.task_run (task_id, input) SELECT id, '{"tenant": "one"}' FROM k RETURNING id`)
	exec(t, w.conn, `UPDATE rowrun.concurrency_limit SET max_running = 2 WHERE name = 'tenants'`)
	for more := true; more; {
		more = query[bool](t, w.conn, `SELECT promoted > 0 OR more OR coalesce(next_ms < 1, false) FROM rowrun.promote_runs()`)
	}
	require.Equal(t, "AVAILABLE", query[string](t, w.conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, behind))
	require.Equal(t, 1, statusCounts(t, w.conn)["PENDING"], "the later limit holds one")
}

// A run that takes turns stands in the line of the FAIR limit, whoever holds it.
func TestALimitOfNothingTellsOfThoseThatTakeTurns(t *testing.T) {
	t.Parallel()
	w := newFairWorld(t, fairLimit+`; INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('none', 'NOOP', 0), ('others', 'MINE', 0)`, []string{"r"}, 4, nil)
	w.insert("a", 3)
	require.Empty(t, work(t, w.s, 4).Claims)
	worries, err := w.s.LimitWorries(t.Context())
	require.NoError(t, err)
	require.Len(t, worries, 2)
	require.True(t, worries[0].Serious())
	require.Equal(t, `limit "none" lets nothing run (max_running is 0): 3 runs wait`, worries[0].Text())
	require.False(t, worries[1].Serious())
}
