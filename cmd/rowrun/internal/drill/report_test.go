package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

func someConfig() Config {
	return Config{
		URL: "postgres://db", DirectURL: "postgres://db", Program: "rowrun", Workers: 2, Jobs: 8, Lease: time.Minute,
		StaleSweep: 30 * time.Second, Slack: 15 * time.Second, Patience: time.Minute,
		Health: func(context.Context) (store.Health, error) { return store.Health{}, nil },
		Check:  func(store.Health) (int, string) { return 0, "" },
	}
}

func someReport() Report {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	outage, after := at.Add(2*time.Second), int64(61500)
	return Report{
		Drill: "rowrun_drill_0a1b2c3d", Mode: ModeWorkers, BeganAt: at, OutageAt: &outage, EndedAt: at.Add(100 * time.Second),
		Program:    Program{Version: "v0.2.0", Platform: "linux/amd64"},
		Deployment: Deployment{ID: "0a1b2c3d-0000-4000-8000-000000000000", ServerVersion: "16.4", SchemaVersion: 8, Others: 2},
		Queue:      "a|b\x1b[2J", Type: Type,
		Lost:   []Lost{{ReplicaID: "rowrun_drill_0a1b2c3d_1-77", Name: "rowrun_drill_0a1b2c3d_1", LeaseMS: 60000, LastHeartbeat: at, Running: 2}},
		Runs:   Runs{Inserted: 8, Lost: 4, Settled: 4, Done: 8},
		Steps:  []Step{{Name: StepNoticed, Passed: true, AfterMS: 55210, WithinMS: 75000, Reason: "a lease", Found: "no lease"}, {Name: StepSettled, AfterMS: 105000, WithinMS: 105000, Reason: "a look", Found: "3 of 4"}},
		Alerts: []Alert{{Source: "rowrun.health", Told: true, AfterMS: &after, Seen: "stale 0 → 4", Rule: "RowrunStaleRunsStay"}, {Source: "http://x/metrics", Seen: "nothing"}},
		Notes:  []string{"all was quiet"},
	}
}

// The members of the report are what teams' own tools read.
func TestTheReportsJSONIsAPromise(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(someReport())
	require.NoError(t, err)
	require.JSONEq(t, `{
		"drill": "rowrun_drill_0a1b2c3d", "passed": false, "mode": "workers",
		"began_at": "2026-11-23T09:00:00Z", "outage_at": "2026-11-23T09:00:02Z", "ended_at": "2026-11-23T09:01:40Z",
		"program": {"version": "v0.2.0", "platform": "linux/amd64"},
		"deployment": {"id": "0a1b2c3d-0000-4000-8000-000000000000", "server_version": "16.4", "schema_version": 8, "other_replicas": 2},
		"queue": "a|b\u001b[2J", "type": "ROWRUN_DRILL",
		"lost_workers": [{"replica_id": "rowrun_drill_0a1b2c3d_1-77", "name": "rowrun_drill_0a1b2c3d_1", "lease_ms": 60000,
			"last_heartbeat": "2026-11-23T09:00:00Z", "running": 2}],
		"runs": {"inserted": 8, "lost": 4, "settled": 4, "done": 8},
		"steps": [
			{"step": "noticed", "passed": true, "after_ms": 55210, "within_ms": 75000, "reason": "a lease", "found": "no lease"},
			{"step": "settled", "passed": false, "after_ms": 105000, "within_ms": 105000, "reason": "a look", "found": "3 of 4"}],
		"alerts": [
			{"source": "rowrun.health", "told": true, "after_ms": 61500, "seen": "stale 0 → 4", "rule": "RowrunStaleRunsStay"},
			{"source": "http://x/metrics", "told": false, "after_ms": null, "seen": "nothing", "rule": ""}],
		"notes": ["all was quiet"]
	}`, string(text))
}

func TestTheReportIsAPageToFile(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	require.NoError(t, someReport().Markdown(&page))
	require.Equal(t, `# Drill rowrun_drill_0a1b2c3d: FAILED

The drill started and killed workers of its own. Queue a\|b [2J, task type ROWRUN_DRILL, 2026-11-23 09:00:00Z to 09:01:40Z.

| step | | after | deadline | found | why by then |
|---|---|---|---|---|---|
| noticed | passed | 55.21 s | 75 s | no lease | a lease |
| settled | FAILED | 105 s | 105 s | 3 of 4 | a look |

Runs: 8 inserted, 4 lost with their workers, 4 settled, 8 DONE in the end.

| who told of it | after | what | rule for Prometheus |
|---|---|---|---|
| rowrun.health | 61.5 s | stale 0 → 4 | RowrunStaleRunsStay |
| http://x/metrics | not at all | nothing |  |

| lost worker | lease | last heartbeat | runs |
|---|---|---|---|
| rowrun_drill_0a1b2c3d_1-77 | 60 s | 09:00:00.000Z | 2 |

rowrun v0.2.0 on linux/amd64; deployment 0a1b2c3d-0000-4000-8000-000000000000, PostgreSQL 16.4, schema version 8, 2 other replicas.

Note: all was quiet.
`, page.String())
	passed := someReport()
	passed.Passed = true
	page.Reset()
	require.NoError(t, passed.Markdown(&page))
	require.Contains(t, page.String(), "# Drill rowrun_drill_0a1b2c3d: passed\n")
}
