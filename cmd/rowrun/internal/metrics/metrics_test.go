package metrics_test

import (
	"context"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const deployment = "0123abcd-89ab-4cde-8123-456789abcdef"

func newMetrics(t *testing.T, url string) *metrics.Metrics {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	m, err := metrics.New(metrics.Config{
		Store: s, Deployment: deployment, Types: []string{"NOOP", "SQL"}, Concurrency: 20, Version: "v1",
		Replica: func() scheduler.Status {
			return scheduler.Status{ReplicaID: "one-1", Role: "worker", Executing: 3, Silent: time.Second}
		},
		Wake: func() metrics.Wake { return metrics.Wake{Source: "notify", Connected: true, Reconnects: 2} },
		Stream: func() metrics.Stream {
			return metrics.Stream{Writing: true, Lines: 10, Gaps: 1, LastGap: time.UnixMilli(1_700_000_000_500), Readers: 4, Slow: 5}
		},
		Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	return m
}

// scrape is what Prometheus gets, without the deployment that stands on each series.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	text := raw(t, m)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			require.Regexp(t, `[{,]deployment="0123abcd"[,}]`, line)
		}
	}
	return strings.ReplaceAll(regexp.MustCompile(`deployment="0123abcd",?`).ReplaceAllString(text, ""), "{} ", " ")
}

func raw(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(body)
}

func change(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(newMetrics(t, storetest.New(t)).Gatherer())
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestWhatASchedulerTellsIsCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics(t, storetest.New(t))
	o := m.Observer()
	o.Promoted(7)
	o.Claimed([]store.Claim{{ID: 1, Type: "NOOP"}, {ID: 2, Type: "NOOP"}, {ID: 3, Type: "a user's"}})
	o.Executed("NOOP", 700*time.Microsecond)
	o.Recorded(2)
	o.Ended("NOOP", "DONE")
	o.Ended("SQL", "FAILED")
	o.Swept(scheduler.SweepStale, 4)
	o.LostWakeUp()
	m.Webhook(notifier.Refused)
	text := scrape(t, m)
	for _, want := range []string{
		`rowrun_scheduler_promoted_runs_total 7`,
		`rowrun_scheduler_runs_total{status="RUNNING",type="NOOP"} 2`,
		`rowrun_scheduler_runs_total{status="RUNNING",type="other"} 1`,
		`rowrun_scheduler_runs_total{status="DONE",type="NOOP"} 1`,
		`rowrun_scheduler_runs_total{status="FAILED",type="SQL"} 1`,
		`rowrun_scheduler_runs_total{status="CANCELED",type="SQL"} 0`,
		`rowrun_scheduler_run_duration_seconds_bucket{type="NOOP",le="0.0005"} 0`,
		`rowrun_scheduler_run_duration_seconds_bucket{type="NOOP",le="0.001"} 1`,
		`rowrun_scheduler_claim_batch_runs_sum 3`,
		`rowrun_scheduler_end_batch_runs_sum 2`,
		`rowrun_scheduler_sweeps_total{sweep="stale"} 1`,
		`rowrun_scheduler_sweep_found_runs_total{sweep="stale"} 4`,
		`rowrun_scheduler_lost_wakeups_total 1`,
		`rowrun_notifier_webhook_attempts_total{result="refused"} 1`,
		`rowrun_notifier_webhook_attempts_total{result="gone"} 0`,
		`rowrun_scheduler_heartbeat_age_seconds 1`,
		`rowrun_scheduler_slots 20`,
		`rowrun_scheduler_slots_used 3`,
		`rowrun_events_wake_source{source="notify"} 1`,
		`rowrun_events_wake_source{source="poll"} 0`,
		`rowrun_events_reconnects_total 2`,
		`rowrun_stream_gaps_total 1`,
		`rowrun_stream_last_gap_timestamp_seconds 1.7000000005e+09`,
		`rowrun_stream_dropped_readers_total 5`,
		`rowrun_build_info{version="v1"} 1`,
		`go_goroutines`, `process_cpu_seconds_total`,
	} {
		require.Contains(t, text, want)
	}
}

// A type that nobody configured here must not make a label of its own.
func TestTheDatabaseIsAskedAtMostEveryFifteenSeconds(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	m := newMetrics(t, url)
	change(t, url, `INSERT INTO rowrun.task (name, type) VALUES ('a', 'NOOP'), ('b', 'MINE'), ('c', 'YOURS');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task; SELECT * FROM rowrun.promote_runs(true);
INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('one', now(), '1 hour')`)
	text := scrape(t, m)
	for _, want := range []string{
		`rowrun_store_up 1`,
		`rowrun_store_waiting_runs{status="AVAILABLE",type="NOOP"} 1`,
		`rowrun_store_waiting_runs{status="AVAILABLE",type="other"} 2`,
		`rowrun_store_waiting_runs{status="PENDING",type="SQL"} 0`,
		`rowrun_store_live_replicas 1`,
		`rowrun_store_oldest_pending_delivery_seconds{reason="unready"} 0`,
		`rowrun_store_stopped_schedules 0`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "MINE")
	require.NotContains(t, text, "rowrun_store_slot_lag_bytes")
	change(t, url, `UPDATE rowrun.task_run SET status = 'CANCELED'`)
	require.Contains(t, scrape(t, m), `rowrun_store_waiting_runs{status="AVAILABLE",type="other"} 2`)
}

func TestWithoutTheDatabaseItsMetricsAreMissing(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	m := newMetrics(t, storetest.On(t, cluster))
	cluster.Kill()
	text := scrape(t, m)
	require.Contains(t, text, "rowrun_store_up 0")
	require.NotContains(t, text, "rowrun_store_live_replicas ")
	require.Contains(t, text, "rowrun_scheduler_slots 20")
}

func TestStartsAreSampled(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	m := newMetrics(t, url)
	change(t, url, `INSERT INTO rowrun.task (name, type) VALUES ('a', 'NOOP');
INSERT INTO rowrun.task_run (id, task_id) SELECT n, id FROM rowrun.task, generate_series(1, 300) n;
SET session_replication_role = replica; UPDATE rowrun.task_run SET started_at = created_at + interval '3 ms'`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	claims := make([]store.Claim, 300)
	for i := range claims {
		claims[i] = store.Claim{ID: int64(i + 1), Type: "NOOP"}
	}
	m.Observer().Claimed(claims)
	require.Eventually(t, func() bool {
		return strings.Contains(scrape(t, m), `rowrun_scheduler_insert_to_start_seconds_bucket{le="0.005"} 200`)
	}, 30*time.Second, 20*time.Millisecond)
	require.Contains(t, scrape(t, m), `rowrun_scheduler_insert_to_start_seconds_bucket{le="0.002"} 0`)
	stop()
	require.NoError(t, <-ended)
}
