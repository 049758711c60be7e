package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// A pass reads as much beside 1,000,000 runs that wait for a limit as beside a few, whether they wait for one key or for many.
func TestAPassBehindLimitsReadsFewPages(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	for _, share := range []string{"NONE", "FAIR"} {
		few := limitedRound(t, log, storetest.On(t, cluster), share, 1000)
		many := limitedRound(t, log, storetest.On(t, cluster), share, storetest.Count(50_000, 1_000_000))
		for what, pages := range many.pages {
			t.Logf("%s, %s: %d pages beside 1,000, %d beside many", share, what, few.pages[what], pages)
			require.LessOrEqual(t, pages, 2*few.pages[what]+20, "%s: pages of %q grow with the table", share, what)
		}
	}
}

// limitedRound fills two limits with so many waiting runs each, one of one key and one of 100, and makes rounds.
func limitedRound(t *testing.T, log *storetest.Log, url, share string, waiting int) *explained {
	t.Helper()
	conn := connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, key_path, max_running, share) VALUES ('all', 'NOOP', NULL, 2, 'NONE'), ('each', 'HTTP', '{x}', 1, $1)`, share)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 10`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'), (2, 'HTTP')`)
	// As the fill trigger and a pass leave them.
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SET LOCAL session_replication_role = replica`)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO rowrun.task_run (id, task_id, root_id, priority, creator, type, queue, sequential, input, cause, limit_keys, limit_wait)
		SELECT n, 1 + n % 2, n, 0, 'x', CASE n % 2 WHEN 0 THEN 'NOOP' ELSE 'HTTP' END, 'default', false, jsonb_build_object('x', n % 200), 'LIMIT', ARRAY[k.k], k.k
		FROM generate_series(1, 2 * $1::int) n
		JOIN LATERAL (SELECT l.id || ':' || CASE n % 2 WHEN 0 THEN '' ELSE (n % 200)::text END AS k FROM rowrun.concurrency_limit l
			WHERE l.name = CASE n % 2 WHEN 0 THEN 'all' ELSE 'each' END) k ON true`, waiting)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	exec(t, conn, `VACUUM ANALYZE rowrun.task, rowrun.task_run`)
	e := explain(t, log, url)
	s := open(t, url, time.Minute)
	types := store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP", "HTTP"}}
	round := func(promote store.Promotion) []store.Claim {
		r, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: types, Promote: promote, Want: 5})
		require.NoError(t, err)
		return r.Claims
	}
	claims := round(store.PromoteSweep)
	for len(claims) < 5 {
		claims = append(claims, round(store.PromoteSweep)...)
	}
	for range 3 {
		e.check(t, "ends and a pass", 3000, func() {
			endClaims(t, s, claims[:2])
			claims = append(claims[2:], round(store.PromoteDue)...)
		})
	}
	return e
}
