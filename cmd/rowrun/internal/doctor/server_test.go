package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestDoctorJudgesWhatTheServerTells(t *testing.T) {
	t.Parallel()
	for text, facts := range map[string]store.ServerFacts{
		"too old":        {Version: "14.9", VersionNum: 140009, Autovacuum: true},
		"is a standby":   {VersionNum: 160000, Standby: true, Autovacuum: true},
		"autovacuum":     {VersionNum: 160000},
		"queue is 60 %":  {VersionNum: 160000, Autovacuum: true, NotifyQueue: 0.6},
		"slot of the se": {VersionNum: 160000, Autovacuum: true, WALLevel: "logical", Replication: true, SlotKeepSize: "10GB"},
		"not set":        {VersionNum: 160000, Autovacuum: true, WALLevel: "logical", Replication: true, SlotKeepSize: "-1", FreeSlots: 1},
	} {
		facts.Fsync, facts.FullPageWrites, facts.MaxConnections = true, true, 100
		d := doctor{server: facts}
		d.judgeServer()
		var found []Finding
		for _, f := range d.findings {
			if f.Severity != Fine && strings.Contains(strings.ReplaceAll(f.Text, "slot of the server", "slot of the se"), text) {
				require.NotEmpty(t, f.Fix)
				found = append(found, f)
			}
		}
		require.Len(t, found, 1, "%s: %+v", text, d.findings)
	}
}

// The test's clock stands beside the database's.
func TestDoctorMeasuresTheClocks(t *testing.T) {
	t.Parallel()
	opened, err := store.Open(t.Context(), store.Config{URL: storetest.New(t)})
	require.NoError(t, err)
	t.Cleanup(opened.Close)
	for offset, want := range map[time.Duration]Severity{0: Fine, time.Minute: Warning, -time.Minute: Warning} {
		d := doctor{store: opened, now: func() time.Time { return time.Now().Add(offset) }}
		require.NoError(t, d.checkClock(t.Context()))
		require.Len(t, d.findings, 1)
		require.Equal(t, want, d.findings[0].Severity, d.findings[0].Text)
	}
}
