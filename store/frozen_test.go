package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// deaf has a session send the statements and take no answer; it returns the session's process id once the server waits for that.
func deaf(t *testing.T, url string, watch *pgx.Conn, statements string) int32 {
	t.Helper()
	conn := connect(t, url)
	pid := int32(conn.PgConn().PID()) //nolint:gosec // a process id
	front := conn.PgConn().Frontend()
	front.SendQuery(&pgproto3.Query{String: statements + `; SELECT repeat('x', 100000000)`})
	require.NoError(t, front.Flush())
	require.Eventually(t, func() bool {
		return query[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'ClientWrite')`, pid)
	}, 20*time.Second, 5*time.Millisecond, "the fault: its client takes no answer")
	return pid
}

// A process that stands still in the middle of a claim keeps neither the gates nor its own row from the others.
func TestSessionsWhoseProcessStandsStillAreEnded(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), openStore(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '2 hours'`)
	gates := deaf(t, url, conn, `BEGIN; SELECT FROM rowrun.promotion_lock FOR UPDATE`)
	row := deaf(t, url, conn, `BEGIN; SELECT FROM rowrun.replica_heartbeat FOR KEY SHARE`)
	reader := deaf(t, url, conn, `BEGIN; SELECT FROM rowrun.replica_heartbeat`)
	require.True(t, query[bool](t, conn, `SELECT (rowrun.promote_runs(true)).busy`))

	ended, err := s.EndFrozenSessions(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Empty(t, ended, "none has been so for an hour")
	ended, err = s.EndFrozenSessions(t.Context(), 0)
	require.NoError(t, err)
	require.ElementsMatch(t, []int32{gates, row}, ended, "who holds nothing of this is left alone: %d", reader)
	require.Eventually(t, func() bool {
		return !query[bool](t, conn, `SELECT (rowrun.promote_runs(true)).busy`)
	}, 20*time.Second, 5*time.Millisecond)
	_, err = s.EndDeadReplica(t.Context(), "r")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := s.EndDeadReplica(t.Context(), "r")
		return err == nil && query[string](t, conn, `SELECT state FROM rowrun.replica_heartbeat`) == "DEAD"
	}, 20*time.Second, 5*time.Millisecond)
}
