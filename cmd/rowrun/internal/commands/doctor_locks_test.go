package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// A session that keeps INSERTs from notifying is named by doctor and by a replica's readiness, which it doesn't change.
func TestSessionsThatHoldUpAreNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s := startServing(t, url, "--types", "NOOP", "--sweep-interval", "100ms", "--wake", "notify", "--stream-source", "off")
	s.awaitReady(t)
	_, findings := diagnosis(t, url)
	require.Empty(t, of(findings, "locks"))
	holder := rowruntest.Connect(t, url)
	var pid int64
	require.NoError(t, holder.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	rowruntest.Change(t, holder, `SELECT pg_advisory_lock(1920298607, 3)`)
	found := one(t, func() []doctor.Finding { _, f := diagnosis(t, url); return f }(), "locks", doctor.Warning)
	require.Equal(t, fmt.Sprintf("SELECT pg_terminate_backend(%d);", pid), found.Fix)
	rowruntest.Eventually(t, "the probe names it", func() bool {
		code, body := s.status(t, "/readyz")
		return code == 200 && strings.Contains(body, fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid))
	})
}

// A table that somebody has locked keeps most checks from an answer: doctor says who it is, and what it finds besides.
func TestDoctorNamesWhoHasLockedATableAndGoesOn(t *testing.T) {
	t.Parallel()
	url := storetest.On(t, ownServer(t, map[string]string{"max_prepared_transactions": "5"}))
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, aliveReplica)
	holder := rowruntest.Connect(t, url)
	var pid int64
	require.NoError(t, holder.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	rowruntest.Change(t, holder, `BEGIN; LOCK TABLE rowrun.task_run IN ACCESS EXCLUSIVE MODE`)
	code, findings := diagnosis(t, url)
	require.Equal(t, cli.ExitFailed, code)
	named := of(findings, "locks")[0]
	require.Equal(t, doctor.Warning, named.Severity)
	require.Contains(t, named.Text, fmt.Sprintf("session %d of postgres has locked rowrun.task_run: replicas stand still", pid))
	require.Contains(t, of(findings, "orphans")[0].Text, "could not be looked at: there was no answer in time")
	require.Contains(t, checks(findings), "schedules", "the last check, %+v", findings)
	rowruntest.Change(t, conn, named.Fix)
	_, findings = diagnosis(t, url)
	for _, check := range []string{"locks", "orphans", "replicas"} {
		require.Empty(t, of(findings, check))
	}

	// Writers alone are kept out: doctor has its answers.
	rowruntest.Change(t, conn, `BEGIN; LOCK TABLE rowrun.task, rowrun.plan IN SHARE MODE; PREPARE TRANSACTION 'it''s a lock'`)
	_, findings = diagnosis(t, url)
	named = one(t, findings, "locks", doctor.Warning)
	require.Contains(t, named.Text, "the prepared transaction it's a lock has locked rowrun.plan and 1 more for who writes")
	require.Empty(t, of(findings, "orphans"))
	fix, _, _ := strings.Cut(named.Fix, " -- ")
	rowruntest.Change(t, conn, fix)
	_, findings = diagnosis(t, url)
	require.Empty(t, of(findings, "locks"))
}

// What was found before doctor fails may say why it does.
func TestWhatDoctorFoundIsShownWhenItFails(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	role := "asks_" + conn.Config().Database
	rowruntest.Change(t, conn, `REVOKE SELECT ON pg_replication_slots FROM PUBLIC; CREATE ROLE `+pgx.Identifier{role}.Sanitize()+` LOGIN IN ROLE rowrun_replica`)
	t.Cleanup(func() { dropRole(t, url, role) })
	file := rowruntest.ConfigFile(t, "commands: {report: {path: /bin/true}}")
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": strings.Replace(url, "postgres@", role+"@", 1)}, "doctor", "--config", file)
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "permission denied for view pg_replication_slots")
	require.Contains(t, got.Stdout, "0 databases and 1 commands")
}
