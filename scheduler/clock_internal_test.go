package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A step is told where it is certain: not where an answer was slow, nor where a clock is brought to the right time little by little.
func TestAStepOfTheDatabasesClockIsTold(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	start := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	type reading struct{ clock, asked, answered, sure, possible time.Duration }
	for name, readings := range map[string][]reading{
		"it goes as time does":                 {{0, 0, ms, 0, 0}, {5 * s, 5 * s, 5*s + ms, 0, 4 * ms}, {10 * s, 10 * s, 10*s + ms, 0, 4 * ms}},
		"an answer that took long":             {{0, 0, ms, 0, 0}, {5 * s, 5 * s, 9 * s, 0, 5 * ms}, {14 * s, 14 * s, 14*s + ms, 0, 8 * ms}},
		"a first answer that took long":        {{3 * s, 0, 4 * s, 0, 0}, {8 * s, 8 * s, 8*s + ms, 0, 1002 * ms}},
		"forward":                              {{0, 0, ms, 0, 0}, {65 * s, 5 * s, 5*s + ms, 60*s - 3*ms, 60*s + 3*ms}, {70 * s, 10 * s, 10*s + ms, 0, 4 * ms}},
		"forward by less than a slow answer":   {{0, 0, ms, 0, 0}, {8 * s, 5 * s, 9 * s, 0, 3*s + 5*ms}, {12 * s, 10 * s, 10*s + ms, 1994 * ms, 2005 * ms}},
		"forward by more than a slow answer":   {{0, 0, ms, 0, 0}, {65 * s, 5 * s, 9 * s, 56*s - 5*ms, 60*s + 5*ms}},
		"back":                                 {{0, 0, ms, 0, 0}, {-20 * s, 5 * s, 5*s + ms, -25*s + 3*ms, 0}, {-15 * s, 10 * s, 10*s + ms, 0, 4 * ms}},
		"it gains a little":                    {{0, 0, ms, 0, 0}, {5*s + 90*ms, 5 * s, 5*s + ms, 0, 93 * ms}, {10*s + 180*ms, 10 * s, 10*s + ms, 0, 94 * ms}},
		"it gains a little in a long time":     {{0, 0, ms, 0, 0}, {1000*s + 400*ms, 1000 * s, 1000*s + ms, 0, 900 * ms}},
		"an answer that another has overtaken": {{0, 0, ms, 0, 0}, {6 * s, 6 * s, 6*s + ms, 0, 4 * ms}, {6 * s, 5 * s, 6 * s, 0, s + ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w clockWatch
			for i, r := range readings {
				sure, possible := w.step(start.Add(r.clock), r.asked, r.answered)
				require.InDelta(t, r.sure, sure, float64(2*ms), "reading %d: for sure", i)
				require.InDelta(t, r.possible, possible, float64(2*ms), "reading %d: possibly", i)
			}
		})
	}
}
