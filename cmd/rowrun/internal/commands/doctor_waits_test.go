package commands

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// mend runs the command that a finding names, without the remark behind it.
func mend(t *testing.T, dsn string, f doctor.Finding, variables map[string]string) rowruntest.Outcome {
	t.Helper()
	command, _, _ := strings.Cut(f.Fix, "  #")
	words := strings.Fields(command)
	require.Equal(t, "rowrun", words[0], f.Fix)
	env := map[string]string{"DATABASE_URL": dsn}
	maps.Copy(env, variables)
	return rowrun(t.Context(), t, env, words[1:]...)
}

// What a replica can't deliver was one line in its log: doctor and the metrics tell of it until it is mended.
func TestDoctorFindsWebhooksThatCannotBeSent(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	t.Cleanup(app.Close)
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	secret := insertWebhook(t, conn, app.URL, "env:SECRET", "standard")
	address := insertWebhook(t, conn, "env:HOOK", "", "standard")
	refused := insertWebhook(t, conn, app.URL+"/private", "", "standard") // egress is refused: it isn't public
	listed := rowruntest.ConfigFile(t, "webhook_secrets: [env:SECRET, env:HOOK]")
	s := startServing(t, url, "--config", listed)
	s.awaitReady(t)
	_, findings := diagnosis(t, url)
	require.Empty(t, of(findings, "webhooks"))
	rowruntest.Change(t, conn, `INSERT INTO rowrun.plan (id) VALUES (900); INSERT INTO rowrun.task (plan_id, name, type) VALUES (900, 'a', 'NOOP'); SELECT rowrun.run_plan(900)`)
	var some []doctor.Finding
	rowruntest.Eventually(t, "each is told", func() bool {
		var code int
		code, findings = diagnosis(t, url)
		some = of(findings, "webhooks")
		return code == cli.ExitFailed && len(some) == 3
	})
	byHook := map[string]doctor.Finding{}
	for _, f := range some {
		require.Equal(t, doctor.Warning, f.Severity)
		require.Contains(t, f.Text, "1 deliveries wait, the oldest since 2")
		byHook[strings.Fields(f.Text)[1]] = f
	}
	require.Contains(t, byHook[asText(secret)].Text, "secret_ref: the variable that it names is not set in this replica")
	require.Contains(t, byHook[asText(address)].Text, "url: the variable that it names is not set in this replica")
	require.NotContains(t, byHook[asText(secret)].Text+byHook[asText(address)].Text, "env:", "a viewer can't read which")
	require.Contains(t, byHook[asText(refused)].Text, "the address is not public")
	text := s.metrics(t)
	for _, reason := range []string{"unready", "refused", "disabled", "due"} {
		require.Contains(t, text, `rowrun_store_oldest_pending_delivery_seconds{reason="`+reason+`"}`)
	}

	// What the command says is what is wrong, until it is mended.
	require.Contains(t, mend(t, url, byHook[asText(secret)], map[string]string{"ROWRUN_CONFIG": listed}).Stderr, "env:SECRET is not set")
	mended := map[string]string{"SECRET": sampleSecret, "HOOK": app.URL, "ROWRUN_WEBHOOK_ALLOW_CIDR": "127.0.0.0/8", "ROWRUN_CONFIG": listed}
	for _, f := range some {
		got := mend(t, url, f, mended)
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	}
	s.stop()
	require.Equal(t, cli.ExitDone, <-s.code)
	startServingWith(t, url, mended)
	rowruntest.Change(t, conn, `UPDATE rowrun.webhook_delivery SET next_attempt_at = now() WHERE status = 'PENDING'`)
	rowruntest.Eventually(t, "all is delivered", func() bool {
		_, findings = diagnosis(t, url)
		return len(of(findings, "webhooks")) == 0
	})
}

// Nothing new is addressed to a webhook that was switched off, and what was given up is sent by nobody.
func TestDoctorFindsDeliveriesThatWereGivenUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, aliveReplica)
	hook := insertWebhook(t, conn, "https://hooks.example/", "", "standard")
	insertDelivery(t, conn, hook, 8, "EXHAUSTED")
	_, findings := diagnosis(t, url)
	f := one(t, findings, "webhooks", doctor.Warning)
	require.Contains(t, f.Text, "webhook 1 (hook) did not take messages")
	got := mend(t, url, f, nil)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	rowruntest.Change(t, conn, `UPDATE rowrun.webhook_delivery SET created_at = now() - interval '2 minutes'`)
	_, findings = diagnosis(t, url)
	require.Contains(t, one(t, findings, "webhooks", doctor.Warning).Text, "no replica comes to what webhook 1")

	rowruntest.Change(t, conn, `UPDATE rowrun.webhook SET enabled = false; UPDATE rowrun.webhook_delivery SET created_at = now()`)
	_, findings = diagnosis(t, url)
	f = one(t, findings, "webhooks", doctor.Warning)
	require.Contains(t, f.Text, "is not enabled")
	got = mend(t, url, f, nil)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	_, findings = diagnosis(t, url)
	require.Empty(t, of(findings, "webhooks"), "a replica has a minute to come to it")

	rowruntest.Change(t, conn, `UPDATE rowrun.webhook SET enabled = false; UPDATE rowrun.webhook_delivery SET status = 'DISABLED', next_attempt_at = NULL`)
	_, findings = diagnosis(t, url)
	f = one(t, findings, "webhooks", doctor.Warning)
	require.Contains(t, f.Text, "was switched off")
	_, again, _ := strings.Cut(f.Fix, "  # then ")
	got = mend(t, url, f, nil)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	got = mend(t, url, doctor.Finding{Fix: again}, nil)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, "PENDING\n", got.Stdout)
}

func TestDoctorFindsSchedulesThatStoppedThemselves(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, aliveReplica)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type, schedule) VALUES ('poll', 'NOOP', '@daily'); SELECT rowrun.pause_schedule(1, 'out of luck')`)
	code, findings := diagnosis(t, url)
	require.Equal(t, cli.ExitFailed, code)
	f := one(t, findings, "schedules", doctor.Warning)
	require.Contains(t, f.Text, `task 1 (poll), "@daily", was paused by itself`)
	require.Contains(t, f.Text, "out of luck")
	got := mend(t, url, f, nil)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	_, findings = diagnosis(t, url)
	require.Empty(t, of(findings, "schedules"))

	// As an upgrade of the server leaves it that takes a zone away.
	rowruntest.Change(t, conn, `SET session_replication_role = replica; UPDATE rowrun.task SET time_zone = 'Mars/Olympus', paused = true, schedule_error = 'time_zone: gone'; RESET session_replication_role`)
	_, findings = diagnosis(t, url)
	rowruntest.Change(t, conn, one(t, findings, "schedules", doctor.Warning).Fix)
	_, findings = diagnosis(t, url)
	require.Empty(t, of(findings, "schedules"))
}

// A writer of the stream that was asked to read the log, and gets no slot, is no silence: /readyz and doctor say who keeps it from one.
func TestDoctorFindsAStreamThatReadsNothing(t *testing.T) {
	t.Parallel()
	cluster := ownServer(t, map[string]string{"wal_level": "logical", "max_prepared_transactions": "5"})
	url, other := storetest.On(t, cluster), cluster.SocketURL("postgres")
	conn := rowruntest.Connect(t, other)
	rowruntest.Change(t, conn, `BEGIN`)
	rowruntest.Change(t, conn, `CREATE TABLE held ()`)
	rowruntest.Change(t, conn, `PREPARE TRANSACTION 'forgotten'`)
	s := startServing(t, url, "--stream-source", "wal")
	s.awaitReady(t)
	var found []doctor.Finding
	rowruntest.Eventually(t, "doctor says so", func() bool {
		_, findings := diagnosis(t, url)
		found = of(findings, "stream")
		return len(found) == 1
	})
	require.Equal(t, doctor.Warning, found[0].Severity)
	require.Contains(t, found[0].Text, "reads nothing: no replication slot can be made before a prepared transaction of postgres (forgotten) in the database postgres has ended")
	rowruntest.Eventually(t, "readyz says so", func() bool {
		_, text := s.status(t, "/readyz")
		return strings.Contains(text, "the stream waits for the write-ahead log: a transaction that is open kept the slot from being made")
	})
	obey(t, other, found[0].Fix)
	rowruntest.Eventually(t, "it is read", func() bool {
		_, findings := diagnosis(t, url)
		return len(of(findings, "stream")) == 0
	})
}
