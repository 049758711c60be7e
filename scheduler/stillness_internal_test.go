package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock that was set back by an hour tells nothing of a report before that: own time does, from the first look on.
func TestStillnessGoesOnBehindAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	type look struct{ at, silent, want time.Duration }
	for name, looks := range map[string][]look{
		"no step":                      {{60, 60, 60}, {70, 3, 3}, {127, 60, 60}},
		"set back":                     {{60, 60 - 3600, 0}, {120, 120 - 3600, 60}, {180, 180 - 3600, 120}},
		"set back by less":             {{60, 30, 30}, {90, 60, 60}},
		"set back, and a report":       {{60, 60 - 3600, 0}, {120, 5, 5}, {175, 60, 60}},
		"set back twice":               {{60, 60 - 3600, 0}, {120, 120 - 7200, 0}, {180, 180 - 7200, 60}},
		"a report, and set back again": {{60, 60 - 3600, 0}, {120, 5 - 3600, 0}, {180, 65 - 3600, 60}},
		"put right again":              {{60, 60 - 3600, 0}, {120, 120, 120}},
		"brought right by the kernel":  {{60, 60 - 36000, 0}, {3660, 3658 - 36000, 3600}, {7260, 7256 - 36000, 7200}},
	} {
		var q stillness
		began := time.Now()
		for i, l := range looks {
			require.Equal(t, l.want*time.Second, q.lasts(began.Add(l.at*time.Second), l.silent*time.Second), "%s, %d", name, i)
		}
	}
}
