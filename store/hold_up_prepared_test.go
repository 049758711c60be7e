package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// preparing is a database of a server on which transactions can be prepared.
func preparing(t *testing.T) (url string) {
	t.Helper()
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Settings: map[string]string{"max_prepared_transactions": "4"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	return storetest.On(t, cluster)
}

// A prepared transaction holds its locks without a session. It is named all the same, whoever it is, with what ends it, and
// what asks for it goes on: anybody may prepare one.
func TestPreparedTransactionsThatHoldSomethingUpAreNamed(t *testing.T) {
	t.Parallel()
	url := preparing(t)
	s := open(t, url, time.Minute)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db') RETURNING id`)
	run := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() - interval '1 minute') RETURNING id`, task)
	for what, c := range map[string]struct{ lock, want string }{
		"slices":         {`SELECT pg_advisory_xact_lock(1920298606, (extract(epoch FROM clock_timestamp()) * 200 + 5000 + i)::bigint::bit(32)::int) FROM generate_series(1, 50) i`, "INSERTs"},
		"the listener":   {`SELECT pg_advisory_xact_lock(1920298607, 3)`, "INSERTs"},
		"beside the log": {`SELECT pg_advisory_xact_lock_shared(1920298607, 3)`, "woken by the log"},
		"the stream":     {`SELECT pg_advisory_xact_lock(1920298607, 2)`, "the stream"},
		"migrations":     {`SELECT pg_advisory_xact_lock(x'726f7772756e6d67'::bigint)`, "migrations"},
		"a run":          {fmt.Sprintf(`SELECT FROM rowrun.task_run WHERE id = %d FOR UPDATE`, run), fmt.Sprint("holds run ", run)},
	} {
		holder, _, _ := stranger(t, url)
		if what == "a run" {
			holder = connect(t, url)
		}
		exec(t, holder, `BEGIN; `+c.lock+`; PREPARE TRANSACTION E'it''s \x1b[31m one'`)
		seen, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
		require.NoError(t, err, what)
		require.Len(t, seen.HoldUps, 1, what)
		require.Zero(t, seen.HoldUps[0].PID, what)
		require.Contains(t, seen.HoldUps[0].String(), c.want, what)
		const literal = `E'it''s \U0000001B[31m one'`
		require.Contains(t, seen.HoldUps[0].String(), "the prepared transaction "+literal, what)
		require.Equal(t, "ROLLBACK PREPARED "+literal, seen.HoldUps[0].End(), what)
		if what == "a run" {
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM rowrun.waiting($1) WHERE cause = 'NO_REPLICA'
					AND message LIKE '%ROLLBACK PREPARED ' || quote_literal(detail ->> 'prepared'))`, run)
			}, 20*time.Second, 100*time.Millisecond)
		}
		exec(t, holder, seen.HoldUps[0].End())
		found, err := s.HoldUps(t.Context())
		require.NoError(t, err)
		require.Empty(t, found, what)
	}
}

// Who waits for the lock of a prepared transaction says for which.
func TestPreparedTransactionsThatBlockAreNamed(t *testing.T) {
	t.Parallel()
	url := preparing(t)
	s := open(t, url, time.Minute)
	holder := connect(t, url)
	exec(t, holder, `BEGIN; LOCK TABLE rowrun.replica_heartbeat; PREPARE TRANSACTION 'table'`)
	waits := make(chan error, 1)
	go func() {
		_, err := s.HoldUps(t.Context())
		waits <- err
	}()
	require.Eventually(t, func() bool {
		found, err := s.Blockers(t.Context())
		require.NoError(t, err)
		return len(found) == 1 && found[0].End() == "ROLLBACK PREPARED 'table'"
	}, 20*time.Second, 10*time.Millisecond)
	exec(t, holder, `ROLLBACK PREPARED 'table'`)
	require.NoError(t, <-waits)
}
