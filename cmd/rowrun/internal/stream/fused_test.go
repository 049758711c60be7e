package stream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// startAtOnce has runs of a plan promoted and claimed in one version of their rows.
func startAtOnce(t *testing.T, p *pgxpool.Pool, s *store.Store, n int) []store.Claim {
	t.Helper()
	plan := queryID(t, p, "INSERT INTO rowrun.plan (parallel_limit) VALUES (100) RETURNING id")
	exec(t, p, "INSERT INTO rowrun.task (plan_id, name, type) SELECT $1, 't' || n, 'NOOP' FROM generate_series(1, $2::int) n", plan, n)
	exec(t, p, "SELECT rowrun.run_plan($1)", plan)
	capabilities := store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP"}}
	var claims []store.Claim
	for len(claims) < n {
		pass, err := s.Work(t.Context(), store.Trip{Replica: "one", Capabilities: capabilities, Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: n})
		require.NoError(t, err)
		claims = append(claims, pass.Claims...)
	}
	require.Zero(t, queryID(t, p, "SELECT count(*) FROM rowrun.task_run WHERE plan_id = $1 AND prev_status IS DISTINCT FROM 'PENDING'", plan))
	return claims
}

// requireBoth checks the lines of a run that was promoted and claimed at once.
func requireBoth(t *testing.T, lines []printed) {
	t.Helper()
	require.Equal(t, "PENDING AVAILABLE RUNNING", statuses(lines))
	require.Equal(t, "PENDING", *lines[1].From)
	require.Nil(t, lines[1].ReplicaID)
	require.Equal(t, "AVAILABLE", *lines[2].From)
	require.Equal(t, "one", *lines[2].ReplicaID)
	require.False(t, lines[1].Time.Before(lines[0].Time))
	require.False(t, lines[2].Time.Before(lines[1].Time))
}

func register(t *testing.T, s *store.Store) {
	t.Helper()
	require.NoError(t, s.Register(t.Context(), store.Replica{ID: "one", Lease: time.Hour, Queues: []string{"default"}, Types: []string{"NOOP"}}))
}

// A run that was promoted and claimed in one version of its row has a line for each, from the log, from its row, and from
// the rows of the past.
func TestBothTransitionsOfOneVersionAreTold(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p, s := pool(t, url), open(t, url)
	register(t, s)
	c := standByLog(t, url, "a", true)
	c.awaitSource(t, "wal")
	w := watch(t, url, nil)

	claims := startAtOnce(t, p, s, 5)
	for _, claim := range claims {
		eventually(t, "its lines from the log", func() bool { return len(c.of(t, claim.ID)) == 3 })
		lines := c.of(t, claim.ID)
		requireBoth(t, lines)
		eventually(t, "its lines from the rows", func() bool { return len(w.of(t, claim.ID)) == 3 })
		requireBoth(t, w.of(t, claim.ID))
	}
	places := map[string]string{}
	for _, key := range c.keys(t) {
		lsn, rest, _ := strings.Cut(key, " ")
		places[rest] = lsn
	}
	for _, claim := range claims {
		promoted := places[fmt.Sprint(claim.ID, " PENDING AVAILABLE")]
		require.NotEmpty(t, promoted)
		require.Equal(t, promoted, places[fmt.Sprint(claim.ID, " AVAILABLE RUNNING")], "the place of their transaction")
	}

	past := watch(t, url, func(c *stream.Config) { c.Since = time.Hour })
	for _, claim := range claims {
		requireBoth(t, past.of(t, claim.ID))
	}
}

// The rows tell both also where their transaction was open for long, and was not over at the point from which on they tell.
func TestBothTransitionsOfALateCommitAreTold(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p, s := pool(t, url), open(t, url)
	register(t, s)
	id := task(t, p, "t", "NOOP")
	w := watch(t, url, nil)
	run := queryID(t, p, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, clock_timestamp() + interval '20 ms') RETURNING id", id)
	exec(t, p, "SELECT pg_sleep(0.05)")
	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	var promoted int
	require.NoError(t, tx.QueryRow(t.Context(),
		`SELECT promoted FROM rowrun.promote_runs(request => ROW('one', sha256('x'), 0, 0, '{default}', '{NOOP}', '{}', '{}')::rowrun.claim_request)`).Scan(&promoted))
	require.Equal(t, 1, promoted)
	exec(t, p, "SELECT pg_sleep(0.7)") // what is half a second older than the point is told for its transaction's sake alone
	moment, err := s.StreamMoment(t.Context())
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "both lines", func() bool { return len(w.of(t, run)) >= 3 })
	requireBoth(t, w.of(t, run))
	since := watch(t, url, func(c *stream.Config) { c.From = &moment.Point })
	require.Equal(t, "AVAILABLE RUNNING", statuses(since.of(t, run)))
}
