package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sweep that found work is a lost wake-up only where none came around it and nothing else would have looked.
func TestLostWakeUpsAreThoseThatNeverCame(t *testing.T) {
	t.Parallel()
	const later = 2 * wakeUpMayTake
	work := sighting{runs: 3, promoted: true}
	for name, c := range map[string]struct {
		prepare  func(l *lostWakeUps, now time.Time)
		found    sighting
		expected bool
		after    func(l *lostWakeUps)
		lost     int
	}{
		"no wake-up comes":          {found: work, lost: 1},
		"nothing was found":         {},
		"dispatch knew of the work": {found: work, expected: true},
		"the wake-up comes later":   {found: work, after: func(l *lostWakeUps) { l.woken() }},
		"the wake-up came just before": {found: work, prepare: func(l *lostWakeUps, now time.Time) {
			l.woken()
		}},
		"what was AVAILABLE is announced later": {found: sighting{runs: 3}, after: func(l *lostWakeUps) { l.toClaim() }},
		"what was AVAILABLE was announced before": {found: sighting{runs: 3}, prepare: func(l *lostWakeUps, now time.Time) {
			l.toClaim()
		}},
		"what was AVAILABLE is not announced":            {found: sighting{runs: 3}, lost: 1},
		"what the sweep promoted is announced by itself": {found: work, after: func(l *lostWakeUps) { l.toClaim() }, lost: 1},
		"a run_at was just due": {found: work, prepare: func(l *lostWakeUps, now time.Time) {
			l.due = now.Add(time.Millisecond)
		}},
	} {
		lost, swept := 0, 0
		l := lostWakeUps{observer: &Observer{
			LostWakeUp: func() { lost++ },
			Swept:      func(_ Sweep, runs int) { swept += runs },
		}}
		now := time.Now()
		l.due = now.Add(time.Hour)
		l.sweep(now, sighting{runs: 5, promoted: true}, false) // the first finds what was there before
		l.look(now.Add(later))
		require.Zero(t, lost, name)
		if c.prepare != nil {
			c.prepare(&l, now)
		}
		l.sweep(now, c.found, c.expected)
		l.look(now.Add(wakeUpMayTake / 2))
		require.Zero(t, lost, name, "too early to say")
		if c.after != nil {
			c.after(&l)
		}
		l.look(now.Add(later))
		l.look(now.Add(2 * later))
		require.Equal(t, c.lost, lost, name)
		require.Equal(t, 5+c.found.runs, swept, name)
	}
}
