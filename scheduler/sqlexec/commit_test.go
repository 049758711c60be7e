package sqlexec_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/store/storetest"
)

// commit is the end of the message that sends it.
const commit = "COMMIT\x00"

func TestLostConnectionEndsTheStatementOnTheServer(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	p := (&proxy{}).start(t, url)
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE t (n int)")
	// Without the server's own look, so that only the executor can have ended it.
	r := newRun(t, "SET client_connection_check_interval = 0; INSERT INTO t VALUES (1); SELECT pg_sleep(600)", true)
	done := make(chan error, 1)
	go func() {
		_, err := executor(t, sqlexec.Target{URL: p.url}).Execute(t.Context(), r.Run)
		done <- err
	}()
	eventually(t, conn, sleeping)
	p.kill(t)
	f := failure(t, <-done)
	require.False(t, value[bool](t, conn, "SELECT "+sleeping), "it ended before Execute returned")
	require.Equal(t, scheduler.CodeError, f.Code)
	require.True(t, f.Retryable)
	require.Contains(t, f.Detail, "statement 3 of 3")
	require.Contains(t, f.Detail, "the connection was lost")
	require.Zero(t, value[int](t, conn, "SELECT count(*) FROM t"))
}

// To the server this is a sidecar that was killed: its sockets close and nobody
// comes back to end the statement.
func TestServerEndsTheStatementOfASidecarThatIsGone(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := (&proxy{closed: true}).start(t, url)
	done := make(chan error, 1)
	r := newRun(t, "SELECT pg_sleep(600)", true)
	go func() {
		_, err := executor(t, sqlexec.Target{URL: p.url}).Execute(ctx, r.Run)
		done <- err
	}()
	eventually(t, conn, sleeping)
	p.kill(t)
	cancel(scheduler.ErrLostContact) // which no cancel request can follow
	eventually(t, conn, "NOT "+sleeping)
	require.Error(t, <-done)
}

func TestSQLCommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	p := (&proxy{text: commit}).start(t, url)
	_, err := executor(t, sqlexec.Target{URL: p.url}).Execute(t.Context(), newRun(t, "CREATE TABLE t (n int)", true).Run)
	p.tookHold(t)
	require.NoError(t, err)
	require.True(t, value[bool](t, connect(t, url), "SELECT to_regclass('t') IS NOT NULL"))
}

func TestSQLCommitThatIsLost(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	p := (&proxy{text: commit, before: true}).start(t, url)
	_, err := executor(t, sqlexec.Target{URL: p.url}).Execute(t.Context(), newRun(t, "CREATE TABLE t (n int)", true).Run)
	p.tookHold(t)
	f := failure(t, err)
	require.True(t, f.Retryable)
	require.Contains(t, f.Detail, "rolled back")
	require.False(t, value[bool](t, connect(t, url), "SELECT to_regclass('t') IS NOT NULL"))
}

func TestSQLCommitThatNobodyCanBeAskedAbout(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &proxy{text: commit, closed: true, afterwards: func() { cancel(scheduler.ErrLostContact) }}
	p.start(t, url)
	_, err := executor(t, sqlexec.Target{URL: p.url}).Execute(ctx, newRun(t, "CREATE TABLE t (n int)", true).Run)
	p.tookHold(t)
	f := failure(t, err)
	require.Equal(t, "08007", f.Code)
	require.Contains(t, f.Detail, "it is unknown whether the statements took effect")
}

func TestMigrateCommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	prepareLedger(t, url)
	p := (&proxy{text: commit}).start(t, url)
	x := executor(t, sqlexec.Target{URL: p.url}).Migrate()
	result, err := x.Execute(t.Context(), newRun(t, "CREATE TABLE t (n int)", true).Run)
	p.tookHold(t)
	require.NoError(t, err)
	require.Equal(t, "APPLIED", object(t, result.Output)["ledger"])
	require.True(t, value[bool](t, conn, "SELECT to_regclass('t') IS NOT NULL"))
	result, err = executor(t, sqlexec.Target{URL: url}).Migrate().Execute(t.Context(), newRun(t, "CREATE TABLE t (n int)", true).Run)
	require.NoError(t, err)
	require.Equal(t, "ALREADY_APPLIED", object(t, result.Output)["code"])
}

func TestMigrateCommitThatIsLost(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := connect(t, url)
	prepareLedger(t, url)
	p := (&proxy{text: commit, before: true}).start(t, url)
	x := executor(t, sqlexec.Target{URL: p.url}).Migrate()
	_, err := x.Execute(t.Context(), newRun(t, "CREATE TABLE t (n int)", true).Run)
	p.tookHold(t)
	f := failure(t, err)
	require.True(t, f.Retryable)
	require.Contains(t, f.Detail, "rolled back")
	require.Empty(t, ledger(t, conn))
	_, err = executor(t, sqlexec.Target{URL: url}).Migrate().Execute(t.Context(), newRun(t, "CREATE TABLE t (n int)", true).Run)
	require.NoError(t, err)
	require.Equal(t, []string{"3 1.10 DONE 7"}, ledger(t, conn))
}
