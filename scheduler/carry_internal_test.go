package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// Which ends are left to the pass that lets go who may wait for them.
func TestEndsThatAPassTakesAlong(t *testing.T) {
	t.Parallel()
	plan := int64(1)
	ended := ending{fresh: true}
	ofPlan := ending{fresh: true, plan: &plan}
	onDatabase := ending{fresh: true, store: store.Ending{Database: "db"}}
	for _, c := range []struct {
		about          string
		end            ending
		idle           bool // no pass takes ends along
		limited        bool // limits may apply
		awaited        bool // runs may be AVAILABLE that wait for a slot
		busy, byItself bool // a batch is being written; each end is written by itself
		want           bool
	}{
		{about: "of no gate", end: ended},
		{about: "of no gate, one by one, behind another", end: ended, busy: true, byItself: true, want: true},
		{about: "of no gate, one by one, the first", end: ended, byItself: true},
		{about: "limits apply, and runs wait for places", end: ended, limited: true, want: true},
		{about: "limits apply, and runs wait for slots", end: ended, limited: true, awaited: true},
		{about: "limits apply, and no pass comes", end: ended, limited: true, idle: true},
		{about: "limits apply, and the run FAILED", end: ending{store: store.Ending{Failed: true}}, limited: true},
		{about: "limits apply, and a pass could not write the end", end: ending{byItself: true}, limited: true},
		{about: "of a plan, and nothing waits for slots", end: ofPlan, want: true},
		{about: "of a plan, and runs wait for slots", end: ofPlan, awaited: true},
		{about: "of a plan, limits apply, and runs wait for slots", end: ofPlan, limited: true, awaited: true},
		{about: "on a database", end: onDatabase, want: true},
		{about: "on a database, and runs wait for slots", end: onDatabase, awaited: true, want: true},
		{about: "on a database, and no pass comes", end: onDatabase, idle: true},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			s := &Scheduler{cfg: Config{MaxBatch: 10}}
			if c.byItself {
				s.cfg.MaxBatch = 1
			}
			s.limited.Store(c.limited)
			now := &incarnation{}
			now.available.some = c.awaited
			s.current.Store(now)
			r := newRecorder(s)
			r.carrying, r.busy = !c.idle, c.busy
			require.Equal(t, c.want, r.carried(&c.end))
		})
	}
}
