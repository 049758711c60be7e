package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A claim takes in the order of claims what the slots allow that are for runs of some priority, and goes past rows that somebody holds.
func TestClaimsTakeWhatReservedSlotsAllow(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other, s := connect(t, url), connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	random := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 1)) //nolint:gosec // not a secret
	bound := 0
	for i := range storetest.Count(60, 1000) {
		queue := fmt.Sprintf("q%d", i)
		task := query[int64](t, conn, `INSERT INTO rowrun.task (type, queue) VALUES ('NOOP', $1) RETURNING id`, queue)
		type candidate struct {
			id       int64
			priority int
		}
		var candidates []candidate
		for range random.IntN(12) {
			p := random.IntN(6) - 2
			candidates = append(candidates, candidate{query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, priority, run_at) VALUES ($1, $2, '2026-01-01') RETURNING id`, task, p), p})
		}
		slices.SortFunc(candidates, func(a, b candidate) int { return cmp.Or(b.priority-a.priority, cmp.Compare(a.id, b.id)) })
		held := []int64{}
		for _, c := range candidates {
			if random.IntN(4) == 0 {
				held = append(held, c.id)
			}
		}
		exec(t, other, `BEGIN`)
		exec(t, other, `SELECT FROM rowrun.task_run WHERE id = ANY ($1) FOR UPDATE`, held)

		want := 1 + random.IntN(8)
		below := []store.Below{{Priority: 0}, {Priority: 2}}
		most := want
		for j := range slices.Backward(below) {
			most = random.IntN(most + 1)
			below[j].Most = most
		}
		var expected []int64
		under := [2]int{}
		for _, c := range candidates {
			fits := len(expected) < want && !slices.Contains(held, c.id)
			for j, b := range below {
				fits = fits && (c.priority >= b.Priority || under[j] < b.Most)
			}
			if !fits {
				continue
			}
			expected = append(expected, c.id)
			for j, b := range below {
				if c.priority < b.Priority {
					under[j]++
				}
			}
		}

		trip := store.Trip{Replica: "r", Capabilities: store.Capabilities{Queues: []string{queue}, Types: []string{"NOOP"}}, Want: want, Below: below}
		round, err := s.Work(t.Context(), trip)
		require.NoError(t, err)
		var got []int64
		for _, c := range round.Claims {
			got = append(got, c.ID)
			require.True(t, slices.Contains(candidates, candidate{c.ID, c.Priority}), "%d says priority %d", c.ID, c.Priority)
			require.Equal(t, "RUNNING", query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1 AND claim_hash = sha256(uuid_send($2::text::uuid))`, c.ID, c.Claim))
		}
		require.Equal(t, expected, got, "%v of %v, held %v, want %d, %v", queue, candidates, held, want, below)
		if trip.Bound(round.Claims) {
			bound++
		} else if len(got) < want && len(held) == 0 {
			require.Len(t, got, len(candidates), "a trip that is not bound has left none")
		}
		exec(t, other, `ROLLBACK`)
	}
	require.Positive(t, bound)
}

func TestQueuesWithoutASlotForLowPrioritiesAreNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	for name, row := range map[string]string{
		"all":      `'{a,b}', 5, '{50,4,100,1}'`,
		"all, too": `'{a,c}', 2, '{20,2}'`,
		"some":     `'{b}', 5, '{50,4}'`,
		"none":     `'{d}', 5, NULL`,
		"odd":      `'{e}', 1, '{50}'`,
	} {
		exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, queues, concurrency, reserve) VALUES ('`+name+`', now(), `+row+`)`)
	}
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, queues, concurrency, reserve) VALUES ('gone', now() - interval '1 h', '{f}', 1, '{50,1}')`)
	queues, err := s.ReservedQueues(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.ReservedQueue{{Queue: "a", Priority: 20}, {Queue: "c", Priority: 20}}, queues)
}

func TestWhyARunWaitsForSlotsThatAreReserved(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency, reserve)
		VALUES ('r', clock_timestamp(), '1 hour', '{NOOP}', 5, '{50,2,100,1}')`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	run := func(priority int) int64 {
		return query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, priority) VALUES ($1, $2) RETURNING id`, task, priority)
	}
	start := func(priority int) {
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'r' WHERE id = $1`, run(priority))
	}
	low, middle, high := run(0), run(50), run(100)
	why := func(id int64) string {
		return query[string](t, conn, `SELECT coalesce(string_agg(cause || ': ' || message, '; '), '') FROM rowrun.waiting($1)`, id)
	}
	const reserved = "CAPACITY: 1 replica could run it, the slots that are free are reserved for higher priorities"
	start(0)
	require.Empty(t, why(low)+why(middle)+why(high))
	start(0) // of five slots three are reserved
	require.Equal(t, reserved, why(low))
	require.Empty(t, why(middle)+why(high))
	start(60)
	start(60)
	require.Equal(t, reserved, why(low))
	require.Equal(t, reserved, why(middle))
	require.Empty(t, why(high))
	start(100)
	for _, id := range []int64{low, middle, high} {
		require.Equal(t, "CAPACITY: 1 replica could run it, all are full", why(id))
	}
	require.Equal(t, []int32{50, 2, 100, 1}, query[[]int32](t, conn, `SELECT reserve FROM rowrun.replica_status`))
	for _, odd := range []string{"{}", "{50}", "{NULL,NULL}", "{{1,2},{3,4}}", "{50,2147483647,51,2147483647}", "{50,-3}"} {
		exec(t, conn, `UPDATE rowrun.replica_heartbeat SET reserve = $1::text::integer[]`, odd)
		why(low)
	}
}
