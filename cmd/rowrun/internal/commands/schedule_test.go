package commands

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestScheduleCommands(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	schedule := func(args ...string) string {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"schedule"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
		return got.Stdout
	}
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type, schedule, starts_at, ends_at) VALUES
		('nightly', 'NOOP', '30 2 * * *', '2100-03-01', '2100-03-03 12:00'), ('off', 'NOOP', '-', NULL, NULL), ('plain', 'NOOP', NULL, NULL, NULL),
		('often', 'NOOP', '@every 10m', '2100-01-01', NULL), ('then', 'NOOP', '@after 1h', '2100-01-02', NULL)`)
	require.Regexp(t, `^TASK +NAME.*\n5 +then +@after 1h +UTC .* PENDING\n4 +often.*\n2 +off +- +UTC +nothing to come\n1 +nightly +30 2 \* \* \* +UTC .* PENDING\n$`,
		schedule("list"))
	require.Regexp(t, `^TASK.*\n4 +often.*\n5 +then.*\n$`, schedule("next", "2"))
	require.Equal(t, "TICK\n2100-03-01T02:30:00Z\n2100-03-02T02:30:00Z\n2100-03-03T02:30:00Z\n", schedule("next", "9", "--task", "1"))
	require.Equal(t, "TICK\n2100-01-01T00:00:00Z\n2100-01-01T00:10:00Z\n", schedule("next", "2", "--task", "4"))
	var ticks []time.Time
	require.NoError(t, json.Unmarshal([]byte(schedule("next", "5", "--task", "5", "-o", "json")), &ticks))
	require.Len(t, ticks, 1)

	require.Equal(t, "4\n", schedule("run", "1")) // three runs wait by now, by their schedules
	require.Equal(t, "paused\n", schedule("pause", "1"))
	require.Equal(t, "PENDING\n", schedule("resume", "1"))

	for _, args := range [][]string{{"run", "3"}, {"pause", "99"}, {"next", "1", "--task", "3"}} {
		got := rowrun(t.Context(), t, variables, append([]string{"schedule"}, args...)...)
		require.Equal(t, cli.ExitFailed, got.Code, "%v", args)
		require.Contains(t, got.Stderr, "with a schedule")
	}
	got := rowrun(t.Context(), t, variables, "schedule", "next", "0")
	require.Equal(t, cli.ExitUsage, got.Code)
}
