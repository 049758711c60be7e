package commands

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// diagnosis runs doctor and reads its findings.
func diagnosis(t *testing.T, dsn string, args ...string) (int, []doctor.Finding) {
	t.Helper()
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": dsn}, append([]string{"doctor", "-o", "json"}, args...)...)
	require.NotEqual(t, cli.ExitUsage, got.Code, got.Stderr)
	var findings []doctor.Finding
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &findings), got.Stdout+got.Stderr)
	return got.Code, findings
}

// of returns the findings of one check that are not fine.
func of(findings []doctor.Finding, check string) []doctor.Finding {
	var some []doctor.Finding
	for _, f := range findings {
		if f.Check == check && f.Severity != doctor.Fine {
			some = append(some, f)
		}
	}
	return some
}

// one is the only finding of a check.
func one(t *testing.T, findings []doctor.Finding, check string, s doctor.Severity) doctor.Finding {
	t.Helper()
	some := of(findings, check)
	require.Len(t, some, 1, "%s: %+v", check, findings)
	require.Equal(t, s, some[0].Severity, some[0].Text)
	require.NotEmpty(t, some[0].Fix)
	return some[0]
}

const aliveReplica = `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, databases, concurrency)
VALUES ('alive', clock_timestamp(), '1 hour', '{NOOP,SQL}', '{orders}', 5)`

func TestDoctorFindsNothingWhereNothingIsWrong(t *testing.T) {
	t.Parallel()
	dsn := storetest.On(t, ownServer(t, map[string]string{"wal_level": "logical", "fsync": "on", "full_page_writes": "on"}))
	rowruntest.Change(t, rowruntest.Connect(t, dsn), aliveReplica+`; CREATE ROLE sidecar LOGIN REPLICATION IN ROLE rowrun_replica, pg_read_all_stats`)
	dsn = withUser(t, dsn, "sidecar")
	code, findings := diagnosis(t, dsn)
	for _, f := range findings {
		require.NotEqual(t, doctor.Warning, f.Severity, f.Text)
	}
	require.Equal(t, cli.ExitDone, code)
	for _, check := range []string{"server", "connections", "wal_level", "notify", "pooler", "clock", "schema", "privileges", "role", "attached", "drift", "vacuum", "snapshot", "replicas", "orphans", "webhooks", "schedules"} {
		require.Contains(t, checks(findings), check)
	}
	one(t, findings, "wal_level", doctor.Note) // the bound of slots is not set there

	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": dsn}, "doctor")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Regexp(t, `(?m)^ok +replicas +1 replicas are alive$`, got.Stdout)
	require.Regexp(t, `(?m)^ +→ ALTER SYSTEM SET max_slot_wal_keep_size`, got.Stdout)
}

func checks(findings []doctor.Finding) []string {
	var names []string
	for _, f := range findings {
		names = append(names, f.Check)
	}
	return names
}

func TestDoctorFindsSchemasOfOtherVersions(t *testing.T) {
	t.Parallel()
	empty := storetest.Empty(t)
	code, findings := diagnosis(t, empty)
	require.Equal(t, cli.ExitFailed, code)
	require.Equal(t, "rowrun migrate up", one(t, findings, "schema", doctor.Warning).Fix)

	_, err := migrations.UpTo(t.Context(), migrations.Config{URL: empty}, 1)
	require.NoError(t, err)
	code, findings = diagnosis(t, empty)
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, one(t, findings, "schema", doctor.Warning).Text, "version 1, this program needs "+strconv.Itoa(migrations.Version()))

	other := storetest.New(t)
	conn := rowruntest.Connect(t, other)
	rowruntest.Change(t, conn, aliveReplica)
	rowruntest.Change(t, conn, `UPDATE rowrun.code_object SET hash = 'another' WHERE object = 'view rowrun.job'`)
	_, findings = diagnosis(t, other)
	require.Contains(t, one(t, findings, "drift", doctor.Warning).Text, "another build's: view rowrun.job")
	rowruntest.Change(t, conn, `UPDATE rowrun.migration SET checksum = 'another' WHERE version = 2`)
	_, findings = diagnosis(t, other)
	require.Contains(t, one(t, findings, "drift", doctor.Warning).Text, "another text than this program has of tables/0002_run_ownership.up.sql")
	rowruntest.Change(t, conn, `DELETE FROM rowrun.code_version`)
	_, findings = diagnosis(t, other)
	require.Contains(t, one(t, findings, "schema", doctor.Warning).Text, "tables but no functions")

	newer := storetest.New(t)
	conn = rowruntest.Connect(t, newer)
	rowruntest.Change(t, conn, aliveReplica)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.migration (version, checksum) VALUES (9999, '')`)
	_, findings = diagnosis(t, newer)
	require.Contains(t, one(t, findings, "schema", doctor.Note).Text, "version 9999")
}

func TestDoctorFindsMissingPrivileges(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	role := "doctor_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	rowruntest.Change(t, conn, `CREATE ROLE `+role+` LOGIN; GRANT rowrun_viewer TO `+role)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := conn.Exec(ctx, `DROP ROLE `+role)
		require.NoError(t, err)
	})
	as := withUser(t, dsn, role)
	code, findings := diagnosis(t, as)
	require.Equal(t, cli.ExitFailed, code)
	f := one(t, findings, "privileges", doctor.Warning)
	require.Contains(t, f.Text, "role "+role+" lacks")
	require.Contains(t, f.Text, " on ")
	require.Contains(t, one(t, findings, "wal_level", doctor.Note).Text, "no REPLICATION")
	require.Contains(t, one(t, findings, "snapshot", doctor.Note).Fix, "pg_read_all_stats")

	rowruntest.Change(t, conn, `GRANT rowrun_replica TO `+role)
	_, findings = diagnosis(t, as)
	require.Empty(t, of(findings, "privileges"))
	rowruntest.Change(t, conn, `REVOKE UPDATE ON rowrun.webhook_delivery FROM rowrun_replica`)
	_, findings = diagnosis(t, as)
	require.Contains(t, one(t, findings, "privileges", doctor.Warning).Text, "UPDATE on rowrun.webhook_delivery")
}

// withUser changes the login of a connection string of the tests' server.
func withUser(t *testing.T, dsn, role string) string {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	return (&url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + config.Database, RawQuery: url.Values{
		"host": {config.Host}, "port": {strconv.Itoa(int(config.Port))},
	}.Encode()}).String()
}

func TestDoctorFindsWhoHoldsAnOldSnapshot(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	conn, holder := rowruntest.Connect(t, dsn), rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	rowruntest.Change(t, holder, `SET application_name = 'left open'`)
	rowruntest.Change(t, holder, `BEGIN ISOLATION LEVEL REPEATABLE READ`)
	rowruntest.Change(t, holder, `SELECT count(*) FROM rowrun.plan`)
	code, findings := diagnosis(t, dsn, "--snapshot-age", "1ns")
	require.Equal(t, cli.ExitFailed, code)
	var fix string
	for _, f := range of(findings, "snapshot") {
		if strings.Contains(f.Text, "left open of postgres") {
			fix = f.Fix
		}
	}
	require.NotEmpty(t, fix, findings)
	rowruntest.Change(t, conn, fix)
	rowruntest.Eventually(t, "the session is gone", func() bool {
		_, findings = diagnosis(t, dsn, "--snapshot-age", "1ns")
		for _, f := range of(findings, "snapshot") {
			if strings.Contains(f.Text, "left open") {
				return false
			}
		}
		return true
	})
}

func TestDoctorFindsRunsThatNobodyTakes(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type, queue, database_id) VALUES
('a', 'MINE', 'default', NULL), ('b', 'MINE', 'default', NULL), ('c', 'NOOP', 'far', NULL), ('d', 'SQL', 'default', 'elsewhere'),
('e', 'SQL', 'default', 'orders'), ('f', 'NOOP', 'default', NULL);
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task;
SELECT * FROM rowrun.promote_runs(true)`)
	code, findings := diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	var texts []string
	for _, f := range of(findings, "orphans") {
		texts = append(texts, f.Text)
	}
	require.Len(t, texts, 3, texts)
	require.Contains(t, texts[0], "type MINE in queue default")
	require.Contains(t, texts[1], "type SQL in queue default on database elsewhere")
	require.Contains(t, texts[2], "type NOOP in queue far")

	rowruntest.Change(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '2 hours'`)
	code, findings = diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	some := of(findings, "replicas")
	require.Len(t, some, 2)
	require.Contains(t, some[0].Text, "no replica is alive")
	require.Contains(t, some[1].Text, "alive")
}

func TestDoctorFindsSlots(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	slot := "rowrun_stream_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	rowruntest.Change(t, conn, `SELECT pg_create_logical_replication_slot('`+slot+`', 'pgoutput')`)
	code, findings := diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	f := one(t, findings, "slot", doctor.Warning)
	require.Contains(t, f.Text, "not this deployment's")
	rowruntest.Change(t, conn, f.Fix)
	storetest.AddStreamSlot(t, dsn)
	_, findings = diagnosis(t, dsn)
	require.Contains(t, one(t, findings, "slot", doctor.Warning).Text, "max_slot_wal_keep_size is not set")
}

// A server of its own: settings are for all of a server's databases.
func TestDoctorFindsSettingsOfTheServer(t *testing.T) {
	t.Parallel()
	dsn := storetest.On(t, ownServer(t, map[string]string{"wal_level": "replica", "max_connections": "20"}))
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	_, findings := diagnosis(t, dsn)
	require.Contains(t, one(t, findings, "wal_level", doctor.Note).Text, "wal_level is replica")
	require.Eventually(t, func() bool { // the diagnosis's own sessions are over
		var open int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'`).Scan(&open)
		return err == nil && open == 1
	}, 10*time.Second, 10*time.Millisecond)
	for range 15 {
		rowruntest.Connect(t, dsn)
	}
	rowruntest.Change(t, conn, `ALTER ROLE postgres SET default_transaction_read_only = on`)
	code, findings := diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	one(t, findings, "connections", doctor.Warning)
	require.Len(t, of(findings, "server"), 2, "read only, and without fsync")
}

// ownServer is one of the test's own.
func ownServer(t *testing.T, settings map[string]string) *embeddedpg.Cluster {
	t.Helper()
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Settings: settings})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	return cluster
}

// A program that embeds a replica may have no version of Rowrun's to show: that is no upgrade to finish.
func TestDoctorNamesVersionsOfReplicasThatHaveOne(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	alive := func(name, version string) {
		rowruntest.Change(t, conn, "INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, version) VALUES ($1, now(), '1 day', $2)", name, version)
	}
	alive("embedded", "")
	alive("one", "v1.0.0")
	_, findings := diagnosis(t, url)
	require.Empty(t, of(findings, "replicas"))
	alive("two", "v1.1.0")
	_, findings = diagnosis(t, url)
	require.Contains(t, one(t, findings, "replicas", doctor.Note).Text, "v1.0.0, v1.1.0")
}
