package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestASilenceLastsFromTheQuestionBefore(t *testing.T) {
	t.Parallel()
	const s = time.Second
	var all silences
	all.answered(0, s/10)
	all.answered(s/5, s/4)
	require.Empty(t, all.list, "answers follow each other")
	all.answered(2*s, 10*s)
	require.Equal(t, []silence{{s / 5, 10 * s}}, all.list, "nobody knows when it has answered")
	all.answered(12*s, 12*s+s/10)
	require.Equal(t, []silence{{2 * s, 12*s + s/10}}, all.list, "a longer one comes later")
	all.answered(17*s, 17*s)
	all.answered(9*s, 17*s+s/10) // another one has overtaken it
	require.Equal(t, []silence{{2 * s, 12*s + s/10}, {12 * s, 17 * s}}, all.list)
	at := time.Unix(1000, 0)
	require.Equal(t, []store.Silence{{From: at.Add(-18 * s), To: at.Add(-7*s + s/10)}, {From: at.Add(-8 * s), To: at.Add(-2 * s)}},
		all.by(reading{now: at, asked: 19 * s, answered: 20 * s}), "as long as they may have been")
	all.answered(400*s, 400*s)
	require.Len(t, all.list, 1)
}

// An outage may fit between two questions of a replica, so that nothing of its own fails, and be longer than a worker's lease. Whoever
// lives through it prolongs the lease before it is judged; whoever doesn't is found by the next look.
func TestALeaseThatRanOutUnseenIsJudgedByTheNextLook(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), `WITH k AS (INSERT INTO rowrun.task (type) VALUES ('OWN') RETURNING id) INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM k, generate_series(1, 3)`)
	require.NoError(t, err)
	// Two short leases, and a long one.
	_, err = conn.Exec(t.Context(), `SELECT rowrun.claim_runs(gen_random_uuid(), 'w', '{OWN}', 2, '2 s'), rowrun.claim_runs(gen_random_uuid(), 'w', '{OWN}', 1, '1 min')`)
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Config{URL: url, Lease: time.Minute, MaxConns: 5})
	require.NoError(t, err)
	t.Cleanup(s.Close)

	replica := &incarnation{s: &Scheduler{cfg: Config{Store: s, StaleAfter: time.Minute, Log: zerolog.Nop()}, opened: make(chan struct{}, 1)}, began: time.Now()}
	// later has so much time go by, with no question.
	later := func(d time.Duration) {
		replica.began = replica.began.Add(-d)
		replica.clock.origin = time.Time{}
		_, err := conn.Exec(t.Context(), `UPDATE rowrun.worker_claim SET until = until - $1::interval`, d)
		require.NoError(t, err)
	}
	left := func() (n int) {
		t.Helper()
		require.NoError(t, replica.endOverdue(t.Context()))
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'`).Scan(&n))
		return n
	}
	later(10 * time.Minute) // of contact
	replica.silences.asked = time.Since(replica.began)
	_, err = conn.Exec(t.Context(), `UPDATE rowrun.worker_claim SET until = clock_timestamp() + lease`)
	require.NoError(t, err)
	require.Equal(t, 3, left())
	later(5 * time.Second)
	require.Equal(t, 3, left(), "the short ones are over, since after the last look")
	_, err = conn.Exec(t.Context(), `UPDATE rowrun.worker_claim SET until = clock_timestamp() + lease WHERE run_id = (SELECT min(run_id) FROM rowrun.worker_claim WHERE lease < '1 min')`)
	require.NoError(t, err)
	later(5 * time.Second)
	require.Equal(t, 2, left(), "one was prolonged meanwhile, the other was over at the last look")
	_, err = conn.Exec(t.Context(), `UPDATE rowrun.worker_claim SET until = clock_timestamp() - interval '1 ms' WHERE lease = '1 min'`)
	require.NoError(t, err)
	require.Equal(t, 1, left(), "such a silence is nothing to a long lease")
}
