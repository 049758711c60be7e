package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// boundedQueue is a queue whose runs are claimed by all bounds at once.
type boundedQueue struct {
	t     *testing.T
	name  string
	want  int
	below []store.Below
	rooms map[string]store.Room
	most  map[string]int // of a type, by limits
	held  map[string]int // of a type, by somebody: a limit that is made meanwhile takes them for runs that are just being claimed
	runs  []boundedRun   // those that nobody holds, in the order of claims
}

type boundedRun struct {
	id       int64
	kind     string
	priority int
}

// fits says whether a claim may take a run besides others.
func (q *boundedQueue) fits(taken []boundedRun, run boundedRun) bool {
	of := 0
	for _, other := range taken {
		if other.kind == run.kind {
			of++
		}
	}
	if room, bound := q.rooms[run.kind]; bound && of >= room.Most {
		return false
	}
	if most, limited := q.most[run.kind]; limited && of >= most {
		return false
	}
	for _, b := range q.below {
		n := 0
		for _, other := range taken {
			if other.priority < b.Priority {
				n++
			}
		}
		if run.priority < b.Priority && n >= b.Most {
			return false
		}
	}
	return len(taken) < q.want
}

// hasPlace says whether a limit has a place for a run besides others and those that somebody holds.
func (q *boundedQueue) hasPlace(taken []boundedRun, run boundedRun) bool {
	most, limited := q.most[run.kind]
	of := q.held[run.kind]
	for _, other := range taken {
		if other.kind == run.kind {
			of++
		}
	}
	return !limited || of < most
}

// left are the bounds behind what was taken.
func (q *boundedQueue) left(taken []boundedRun) (want int, below []store.Below, rooms map[string]store.Room) {
	below, rooms = slices.Clone(q.below), map[string]store.Room{}
	for kind, room := range q.rooms {
		for _, run := range taken {
			if run.kind == kind {
				room.Most--
			}
		}
		rooms[kind] = room
	}
	for i := range below {
		for _, run := range taken {
			if run.priority < below[i].Priority {
				below[i].Most--
			}
		}
	}
	return q.want - len(taken), below, rooms
}

// newBoundedQueue makes runs, some of which another session holds, and draws bounds; limits are made when the runs are AVAILABLE.
func newBoundedQueue(t *testing.T, conn, other *pgx.Conn, random *rand.Rand, n int) *boundedQueue {
	t.Helper()
	q := &boundedQueue{t: t, name: fmt.Sprintf("q%d", n), want: 1 + random.IntN(8), most: map[string]int{}, held: map[string]int{}}
	for _, kind := range []string{"NOOP", "HTTP"} {
		task := query[int64](t, conn, `INSERT INTO rowrun.task (type, queue) VALUES ($1, $2) RETURNING id`, kind, q.name)
		for range random.IntN(9) {
			run := boundedRun{kind: kind, priority: random.IntN(6) - 2}
			run.id = query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, priority, run_at) VALUES ($1, $2, '2026-01-01') RETURNING id`, task, run.priority)
			q.runs = append(q.runs, run)
		}
		if random.IntN(2) == 0 {
			q.most[kind] = random.IntN(4)
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, queue, max_running) VALUES ($1, $2, $3, $4)`, q.name+kind, kind, q.name, q.most[kind])
		}
	}
	slices.SortFunc(q.runs, func(a, b boundedRun) int { return cmp.Or(b.priority-a.priority, cmp.Compare(a.id, b.id)) })
	held := []int64{}
	q.runs = slices.DeleteFunc(q.runs, func(run boundedRun) bool {
		if random.IntN(5) > 0 {
			return false
		}
		held = append(held, run.id)
		q.held[run.kind]++
		return true
	})
	exec(t, other, `BEGIN`)
	exec(t, other, `SELECT FROM rowrun.task_run WHERE id = ANY ($1) FOR UPDATE`, held)
	if random.IntN(3) > 0 {
		q.below = []store.Below{{Priority: 0}, {Priority: 2}}
		most := q.want
		for j := range slices.Backward(q.below) {
			most = random.IntN(most + 1)
			q.below[j].Most = most
		}
	}
	if random.IntN(3) > 0 {
		q.rooms = map[string]store.Room{"NOOP": {Most: random.IntN(4) - 1, Timeout: time.Hour}, "HTTP": {Most: q.want, Timeout: 2 * time.Hour}}
	}
	return q
}

// Slots that are reserved, room for types and limits hold at once, and keep nothing back that all of them allow, whoever holds rows.
func TestBoundsOfAReplicaAndLimitsHoldTogether(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other, s := connect(t, url), connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	random := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 2)) //nolint:gosec // not a secret
	claimed, kept := 0, 0
	for i := range storetest.Count(60, 1000) {
		q := newBoundedQueue(t, conn, other, random, i)
		var taken []boundedRun
		for range 6 { // each goes past what a limit was found to hold back; runs that somebody holds have it look again for ever
			want, below, rooms := q.left(taken)
			trip := store.Trip{Replica: "r", Want: want, Below: below, Capabilities: store.Capabilities{Queues: []string{q.name}, Types: []string{"NOOP", "HTTP"}, Rooms: rooms}}
			round, err := s.Work(t.Context(), trip)
			require.NoError(t, err)
			for _, c := range round.Claims {
				n := slices.IndexFunc(q.runs, func(run boundedRun) bool { return run.id == c.ID })
				require.NotEqual(t, -1, n, "%d", c.ID)
				require.True(t, q.fits(taken, q.runs[n]), "%v of %+v besides %v", q.runs[n], q, taken)
				if room, bound := q.rooms[c.Type]; bound {
					require.InDelta(t, room.Timeout.Seconds(), c.Timeout.Seconds(), 1)
				}
				taken = append(taken, q.runs[n])
			}
			if !round.Contended || len(taken) == q.want {
				break
			}
		}
		claimed += len(taken)
		for _, run := range q.runs {
			if !slices.Contains(taken, run) {
				kept++
				require.False(t, q.fits(taken, run) && q.hasPlace(taken, run), "%v of %+v was kept back besides %v", run, q, taken)
			}
		}
		exec(t, other, `ROLLBACK`)
	}
	require.Positive(t, claimed)
	require.Positive(t, kept)
}

// A search that looks at more than it may take, for the rows that others hold, takes no more of a type than there is room for, and no
// more below a priority than there are slots.
func TestASearchThatLooksAtMoreTakesNoMore(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `WITH k AS (INSERT INTO rowrun.task (type, priority) VALUES ('NOOP', 5), ('HTTP', 1) RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM k, generate_series(1, 10)`)
	claim := func(rooms, priorities, below any) []string {
		exec(t, conn, `BEGIN`)
		defer exec(t, conn, `ROLLBACK`)
		return query[[]string](t, conn, `SELECT array_agg(c.type ORDER BY c.n) FROM rowrun.claim_available(ROW('r',
			(SELECT string_agg(sha256(uuid_send(gen_random_uuid())), '') FROM generate_series(1, 20)), 0, 0, '{default}', '{NOOP,HTTP}', '{}', '{}')::rowrun.claim_request,
			20, 5, $1, NULL, $2, $3) a CROSS JOIN LATERAL unnest(a.claims) c`, rooms, priorities, below)
	}
	require.Equal(t, []string{"NOOP", "NOOP", "NOOP", "NOOP", "NOOP"}, claim(nil, nil, nil))
	require.Equal(t, []string{"NOOP", "NOOP", "HTTP", "HTTP", "HTTP"}, claim([]int64{2, 5}, nil, nil), "room for two")
	require.Equal(t, []string{"NOOP", "NOOP", "HTTP"}, claim([]int64{2, 5}, []int32{5}, []int32{1}), "one below 5")
}
