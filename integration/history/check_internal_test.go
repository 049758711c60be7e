package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A promotion is held against what was committed surely before it was judged. Where the clock went back in between, nothing is sure.
func TestAPromotionOfAPausedTaskIsWrongUnlessTheClockWentBack(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		judged, committed time.Duration
		wrong             int
	}{
		"long behind the pause":           {time.Second, 1100 * time.Millisecond, 1},
		"beside the pause":                {100 * time.Millisecond, 1100 * time.Millisecond, 0},
		"before the clock was set back":   {3 * time.Second, 300 * time.Millisecond, 0},
		"long before, and long under way": {-time.Second, time.Minute, 0},
	} {
		h := empty()
		h.apply([]Change{{"task", "INSERT", map[string]string{"id": "1"}}}, began.Add(-time.Minute))
		h.apply([]Change{{"task_run", "INSERT", map[string]string{"id": "2", "task_id": "1", "status": "PENDING"}}}, began.Add(-time.Minute))
		h.apply([]Change{{"task", "UPDATE", map[string]string{"id": "1", "paused": "true"}}}, began)
		h.apply([]Change{{"task_run", "UPDATE", map[string]string{
			"id": "2", "task_id": "1", "status": "AVAILABLE", "available_at": began.Add(test.judged).Format(stamp),
		}}}, began.Add(test.committed))
		require.Len(t, h.Violations, test.wrong, "%s: %v", name, h.Violations)
	}
}
