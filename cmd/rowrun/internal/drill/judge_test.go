package drill

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndsOfLostRunsAreJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends        map[string]int
		lost, early int
		ok          bool
		says        string
	}{
		"all":                 {map[string]int{"STALE": 4}, 4, 0, true, "4 of 4 lost runs"},
		"some fenced":         {map[string]int{"STALE": 3, "LOST_CONTACT": 1}, 4, 0, true, "4 of 4 lost runs"},
		"one still RUNNING":   {map[string]int{"STALE": 3}, 4, 0, false, "3 of 4 lost runs"},
		"without a successor": {map[string]int{"STALE": 3, "STALE without a successor": 1}, 4, 0, false, "1 ended as STALE without a successor"},
		"drained":             {map[string]int{"DRAINED": 4}, 4, 0, false, "asked to stop: that is no loss"},
		"finished":            {map[string]int{"STALE": 3, "DONE without a successor": 1}, 4, 0, false, "1 ended as DONE without a successor"},
		"too early":           {map[string]int{"STALE": 4}, 4, 2, false, "2 were declared dead before their lease was over"},
	} {
		ok, says := judgeEnds(c.ends, c.lost, c.early)
		require.Equal(t, c.ok, ok, name)
		require.Contains(t, says, c.says, name)
	}
}

func TestDeadlinesHaveReasons(t *testing.T) {
	t.Parallel()
	lease, sweep, slack := time.Minute, 30*time.Second, 15*time.Second
	served := reckon(lease, sweep, slack, true, true)
	require.Equal(t, 75*time.Second, served.noticed)
	require.Equal(t, 150*time.Second, served.alerted, "with two looks, and figures that are 15 s old")
	require.Equal(t, 105*time.Second, served.settled)
	require.Equal(t, 45*time.Second, served.recovered)
	alone := reckon(lease, sweep, slack, false, false)
	require.Equal(t, 75*time.Second, alone.alerted, "nobody needs to look")
	require.Equal(t, 105*time.Second, alone.settled)
	require.Equal(t, 135*time.Second, alone.recovered)
	require.Contains(t, alone.settledReason, "in contact for a whole lease (1m0s)")
	for _, d := range []deadlines{served, alone} {
		for _, reason := range []string{d.noticedReason, d.alertedReason, d.settledReason, d.recoveredReason} {
			require.NotEmpty(t, reason)
		}
	}
}

func TestFiguresThatGetWorseTellOfALoss(t *testing.T) {
	t.Parallel()
	well := figures{values: map[string]float64{seriesSettled: 2, seriesStale: 0, seriesOrphans: 0, seriesLive: 3}}
	with := func(series string, value float64) figures {
		f := figures{values: map[string]float64{}}
		for s, v := range well.values {
			f.values[s] = v
		}
		f.values[series] = value
		return f
	}
	for _, c := range []struct {
		now        figures
		seen, rule string
	}{
		{well, "", ""},
		{with(seriesSettled, 6), seriesSettled + " 2 → 6", "RowrunStaleRuns"},
		{with(seriesStale, 4), "rowrun_store_stale_runs 0 → 4", "RowrunStaleRunsStay"},
		{with(seriesOrphans, 8), "rowrun_store_orphan_runs 0 → 8", "RowrunOrphans"},
		{with(seriesLive, 1), "", ""},
		{with(seriesLive, 0), "rowrun_store_live_replicas 3 → 0", "RowrunNoReplica"},
		{with(seriesSettled, 0), "", ""}, // a replica that was started anew
		{figures{code: 1, text: "4 runs wait"}, "OK → WARNING: 4 runs wait", ""},
		{figures{code: 2, text: "0 live replicas"}, "OK → CRITICAL: 0 live replicas", ""},
		{figures{code: 3, text: "can't tell"}, "", ""},
	} {
		seen, rule, told := worse(well, c.now)
		require.Equal(t, c.seen != "", told, c.seen)
		require.Equal(t, c.seen, seen)
		require.Equal(t, c.rule, rule)
	}
}

func TestWhatChangesBeforeTheLeasesAreOverIsNotTheOutage(t *testing.T) {
	t.Parallel()
	orphans := 0.0
	d := &Drill{sources: []*source{{name: "a", ask: func(context.Context) (figures, error) {
		return figures{values: map[string]float64{seriesOrphans: orphans}}, nil
	}}}}
	require.NoError(t, d.baseline(t.Context()))
	orphans = 1 // somebody else's
	require.False(t, d.listen(t.Context(), time.Now(), false))
	require.False(t, d.listen(t.Context(), time.Now(), true))
	orphans = 4
	require.True(t, d.listen(t.Context(), time.Now(), true))
	require.Equal(t, seriesOrphans+" 1 → 4", d.sources[0].alert.Seen)
}

func TestFiguresAreReadFromAScrape(t *testing.T) {
	t.Parallel()
	f := parse(strings.NewReader(`# HELP rowrun_store_stale_runs RUNNING runs
# TYPE rowrun_store_stale_runs gauge
rowrun_store_stale_runs{deployment="0a1b2c3d"} 4
rowrun_scheduler_sweep_found_runs_total{deployment="0a1b2c3d",sweep="overdue"} 9
rowrun_scheduler_sweep_found_runs_total{deployment="0a1b2c3d",sweep="stale"} 1.2e+01
rowrun_store_live_replicas{deployment="0a1b2c3d"} nonsense
go_goroutines 7
} 1
rowrun_store_orphan_runs`))
	require.Equal(t, "0a1b2c3d", f.deployment)
	require.Equal(t, map[string]float64{seriesStale: 4, seriesSettled: 12}, f.values)
	require.Empty(t, parse(strings.NewReader("<html>")).values)
}

func TestWhatCannotBeDrilledIsRefused(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*Config){
		"--workers: 0 is not accepted; accepted: 1 to 20":                       func(c *Config) { c.Workers = 0 },
		"--jobs: 1 is not accepted; accepted: 2 to 1000":                        func(c *Config) { c.Jobs = 1 },
		"--lease: 999ms is not accepted; accepted: 1s to 1h0m0s":                func(c *Config) { c.Lease = 999 * time.Millisecond },
		"--stale-sweep-interval: 0s is not accepted; accepted: 10ms to 1h0m0s":  func(c *Config) { c.StaleSweep = 0 },
		"--slack: 0s is not accepted; accepted: 1s to 1h0m0s":                   func(c *Config) { c.Slack = 0 },
		"--patience: 25h0m0s is not accepted; accepted: 1s to 24h0m0s":          func(c *Config) { c.Patience = 25 * time.Hour },
		"--drill-queue: has 101 bytes; accepted: at most 100":                   func(c *Config) { c.Queue = strings.Repeat("x", 101) },
		"--metrics-url: is not accepted; accepted: addresses such as http://12": func(c *Config) { c.MetricsURLs = []string{"127.0.0.1:8484"} },
		"--metrics-url: is not accepted":                                        func(c *Config) { c.MetricsURLs = []string{"http://me:secret@host/metrics"} },
		"drill needs a database":                                                func(c *Config) { c.URL = "" },
	} {
		c := someConfig()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "secret")
	}
	c := someConfig()
	c.MetricsURLs = []string{"http://127.0.0.1:8484"}
	d, err := New(c)
	require.NoError(t, err)
	require.Equal(t, []string{"http://127.0.0.1:8484/metrics"}, d.cfg.MetricsURLs)
	require.Regexp(t, `^rowrun_drill_[0-9a-f]{8}$`, d.name)
	require.Equal(t, d.name, d.queue)
}
