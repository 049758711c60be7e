package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// After a promotion the log is read on without a gap only where its slot was kept in step, and nothing was told that the new timeline doesn't have.
func TestAPromotionIsNoGapWhereTheSlotWasKeptInStep(t *testing.T) {
	t.Parallel()
	type world struct {
		slot   store.SlotState
		last   store.StreamPosition
		system events.System
		told   events.LSN // by this process, on timeline 1
		before string     // another writer
	}
	for name, c := range map[string]struct {
		change func(*world)
		kept   bool
	}{
		"its own":                            {func(*world) {}, true},
		"its own, up to the end":             {func(w *world) { w.told = 0xFF }, true},
		"told what was lost":                 {func(w *world) { w.told = 0x100 }, false},
		"another writer":                     {func(w *world) { w.before = "other" }, false},
		"another writer, standbys first":     {func(w *world) { w.before, w.last.StandbysFirst = "other", true }, true},
		"told what was lost, standbys first": {func(w *world) { w.told, w.last.StandbysFirst = 0x100, true }, false},
		"a slot of the new primary":          {func(w *world) { w.slot.Synced = false }, false},
		"no slot":                            {func(w *world) { w.slot.Exists = false }, false},
		"another server":                     {func(w *world) { w.system.ID = "b" }, false},
		"a recovery to a point in time":      {func(w *world) { w.system.Forks = map[int]events.LSN{} }, false},
		"the same, standbys first": {func(w *world) {
			w.before, w.last.StandbysFirst, w.system.Forks = "other", true, map[int]events.LSN{}
		}, false},
		"two promotions":                      {func(w *world) { w.system.Timeline, w.system.Forks[2] = 3, 0x200 }, true},
		"a position that nobody has recorded": {func(w *world) { w.last.LSN = "" }, false},
	} {
		x := world{
			slot:   store.SlotState{Exists: true, Failover: true, Synced: true},
			last:   store.StreamPosition{SystemID: "a", Timeline: 1, LSN: "0/80"},
			system: events.System{ID: "a", Timeline: 2, Forks: map[int]events.LSN{1: 0x100}},
			told:   0x90,
		}
		c.change(&x)
		w := &WAL{where: placeOf{"a", 1}, last: 0x90, told: x.told, printed: newPrinted()}
		if x.before != "" { // who has written since
			w.last, w.told = 0x40, 0x40
		}
		require.Equal(t, c.kept, w.kept(&x.slot, &x.last, &x.system, x.before), name)
		if c.kept && x.before == "" {
			require.Equal(t, events.LSN(0x90), w.last, "%s: what it told is passed over", name)
		} else if c.kept {
			require.Equal(t, events.LSN(0x7F), w.last, "%s: what was recorded is passed over", name)
		}
	}
}
