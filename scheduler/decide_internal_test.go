package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

func TestWhatARoundPromotes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	earlier, later := now.Add(-time.Second), now.Add(time.Second)
	rest := timetable{sweep: later, promote: later, whole: later}
	for name, c := range map[string]struct {
		w             wake
		at            timetable
		work, backlog bool
		promote       store.Promotion
		leave         bool
	}{
		"nothing asks for it":                          {at: rest},
		"a run may be claimed":                         {w: wake{told: true}, at: rest},
		"something may be due":                         {w: wake{woken: true}, at: rest, promote: store.PromoteDue},
		"it is due":                                    {at: timetable{sweep: later, promote: now, whole: later}, promote: store.PromoteDue},
		"a backlog is promoted meanwhile":              {w: wake{woken: true}, at: rest, backlog: true, leave: true},
		"and nothing asks for more":                    {at: rest, backlog: true},
		"a sweep whose look saw nothing":               {at: timetable{sweep: now, promote: earlier, whole: later}},
		"a sweep whose look saw something":             {at: timetable{sweep: now, promote: later, whole: later}, work: true, promote: store.PromoteSweep},
		"also beside a backlog":                        {at: timetable{sweep: now, promote: later, whole: later}, work: true, backlog: true, promote: store.PromoteSweep},
		"a sweep that looks whole after a while":       {at: timetable{sweep: earlier, promote: later, whole: now}, promote: store.PromoteSweep},
		"a sweep whose look saw nothing, and woken":    {w: wake{woken: true}, at: timetable{sweep: now, promote: later, whole: later}, promote: store.PromoteDue},
		"that, beside a backlog":                       {w: wake{woken: true}, at: timetable{sweep: now, promote: later, whole: later}, backlog: true, leave: true},
		"work that was seen is of no sweep that isn't": {at: rest, work: true},
		"soon behind a whole pass that took long":      {at: timetable{sweep: now, promote: later, whole: later, rested: later}, work: true, promote: store.PromoteDue},
		"that, beside a backlog's passes":              {at: timetable{sweep: now, promote: later, whole: later, rested: later}, work: true, backlog: true, leave: true},
		"and nothing was seen":                         {at: timetable{sweep: now, promote: later, whole: later, rested: later}},
		"not later than after a while":                 {at: timetable{sweep: now, promote: later, whole: now, rested: later}, work: true, promote: store.PromoteSweep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			promote, leave := decide(c.w, c.at, c.work, c.backlog, now)
			require.Equal(t, c.promote, promote)
			require.Equal(t, c.leave, leave)
		})
	}
}

func TestWhenTheNextRoundIs(t *testing.T) {
	t.Parallel()
	began := time.Now()
	now := began.Add(time.Millisecond)
	at := timetable{sweep: began.Add(time.Second), promote: began.Add(time.Minute), whole: began.Add(time.Hour)}
	const every = 5 * time.Second

	require.Equal(t, at, at.after(store.PromoteNothing, forever, began, now, every, wholeEvery), "a claim alone knows of no time")
	require.Equal(t, now.Add(busyAgain), at.after(store.PromoteNothing, busyAgain, began, now, every, wholeEvery).promote, "but that others were quicker")
	require.Equal(t, now.Add(2*time.Minute), at.after(store.PromoteDue, 2*time.Minute, began, now, every, wholeEvery).promote, "a promotion knows the next time, also a later one")
	require.Equal(t, at.sweep, at.after(store.PromoteDue, forever, began, now, every, wholeEvery).sweep)

	at.sweep = began
	swept := at.after(store.PromoteNothing, 3*time.Second, began, now, every, wholeEvery)
	require.Equal(t, timetable{sweep: began.Add(every), promote: now.Add(3 * time.Second), whole: at.whole}, swept, "a sweep's look knows the next time")
	whole := at.after(store.PromoteSweep, forever, began, now, every, wholeEvery)
	require.Equal(t, began.Add(wholeEvery), whole.whole)
	require.Equal(t, now, whole.rested, "the first one, when everything was cold")
	at.took = time.Minute
	require.Equal(t, now.Add(50*time.Millisecond), at.after(store.PromoteSweep, forever, began, now, every, wholeEvery).rested, "50 times as long as it took")
	at.took = time.Millisecond
	stalled := at.after(store.PromoteSweep, forever, now.Add(-3*time.Second), now, every, wholeEvery)
	require.Equal(t, now.Add(50*time.Millisecond), stalled.rested, "once the server stood still")
	require.Equal(t, 3*time.Second, stalled.took)
}

func TestHowSoonAFailedPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		failing bool
		wait    time.Duration
		say     bool
	}{
		"a connection that died while it was idle": {errors.New("closed"), false, replaced, false},
		"and the next one as well":                 {errors.New("closed"), true, time.Second, true},
		"this replica is dead":                     {store.ErrDead, true, time.Second, false},
		"too much at once":                         {context.DeadlineExceeded, false, smallerAgain, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait, say := again(c.err, c.failing)
			require.Equal(t, c.wait, wait)
			require.Equal(t, c.say, say)
		})
	}
}

// What becomes AVAILABLE while a trip is under way is not forgotten because the trip found nothing.
func TestWhatIsKnownOfAvailableRuns(t *testing.T) {
	t.Parallel()
	search := store.Trip{Want: 2}
	for name, c := range map[string]struct {
		trip      store.Trip
		found     store.Pass
		meanwhile bool
		want      bool
	}{
		"fewer than were wanted":             {search, store.Pass{Claims: make([]store.Claim, 1)}, false, false},
		"fewer, and one came meanwhile":      {search, store.Pass{}, true, true},
		"as many as were wanted":             {search, store.Pass{Claims: make([]store.Claim, 2)}, false, true},
		"others were at them":                {search, store.Pass{Contended: true}, false, true},
		"more was promoted than claimed":     {search, store.Pass{Promoted: 1, Unclaimed: 1}, false, true},
		"nothing was searched":               {store.Trip{}, store.Pass{}, false, true},
		"only what the trip itself promoted": {store.Trip{Want: 2, Claim: store.ClaimFresh}, store.Pass{}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a available
			require.False(t, a.may())
			a.came()
			_, since := a.ask()
			if c.meanwhile {
				a.came()
			}
			a.learned(since, c.trip, c.found)
			require.Equal(t, c.want, a.may())
		})
	}
}
