package stream

import (
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// printedLimit is how many runs at least are remembered.
	printedLimit = 1 << 16
	// printedMost bounds memory where nobody turns the generations.
	printedMost = 1 << 20
	// unendedLimit is how many runs that haven't ended are remembered beyond that: their rows may change again without a
	// change of status.
	unendedLimit = 1 << 18
)

// rank numbers the statuses in their order; 0: none that is known.
func rank(status string) uint8 {
	switch status {
	case "PENDING":
		return 1
	case "AVAILABLE":
		return 2
	case "RUNNING":
		return 3
	case "DONE", "FAILED", "CANCELED":
		return ended
	}
	return 0
}

const ended = 4

// printed remembers how far runs were printed: those of the last transitions,
// in two generations of which the older is dropped as a whole, but for runs
// that haven't ended.
type printed struct {
	young, old map[int64]uint8
	unended    map[int64]uint8
	// since are the runs that were printed since a moment, later those since a later one; nil: that is not noted.
	since, later map[int64]uint8
	// unseen are ids, ascending, of which whoever printed this had seen no run: of one that is found there nothing was printed.
	unseen []store.Span
	// whole is a moment by the database's clock: of runs that were inserted after it every line is remembered; zero: of none.
	whole time.Time
	// recent and before are the runs of the lines of the last second, and maybe of the one before it; turned is when they changed.
	recent, before []int64
	turned         time.Time
}

// handLimit is how many runs one writer leaves to the next.
const handLimit = 1 << 17

// begin notes what is printed from now on; mark notes it again from a later moment on, which moveOn then takes for the
// beginning. Who reads the rows that changed since such a moment finds times of half a second before it too, so that what was
// printed lately is noted with it.
func (p *printed) begin()  { p.since, p.later = p.lately(), nil }
func (p *printed) mark()   { p.later = p.lately() }
func (p *printed) moveOn() { p.since, p.later = p.later, nil }

// tick is called between lines, so that lately knows what a second is.
func (p *printed) tick(now time.Time) {
	if now.Sub(p.turned) >= time.Second {
		p.recent, p.before, p.turned = p.before[:0], p.recent, now
	}
}

// lingers has lately know a run: it was printed just now, or another writer may have printed it just before this one began.
func (p *printed) lingers(id int64) {
	if len(p.recent) <= handLimit {
		p.recent = append(p.recent, id)
	}
}

func (p *printed) lately() map[int64]uint8 {
	noted := make(map[int64]uint8, len(p.recent)+len(p.before))
	for _, ids := range [...][]int64{p.before, p.recent} {
		for _, id := range ids {
			noted[id] = p.at(id)
		}
	}
	return noted
}

// note keeps one that grows beyond the limit at that: it is of no use then.
func note(to map[int64]uint8, id int64, r uint8) {
	if to != nil && len(to) <= handLimit {
		to[id] = r
	}
}

func newPrinted() *printed { return &printed{young: map[int64]uint8{}, unended: map[int64]uint8{}} }

// at is the rank of a run's last line; 0: none is remembered.
func (p *printed) at(id int64) uint8 {
	if r, ok := p.young[id]; ok {
		return r
	}
	if r, ok := p.old[id]; ok {
		return r
	}
	return p.unended[id]
}

func (p *printed) set(id int64, r uint8) {
	if len(p.young) >= printedMost {
		p.turn()
	}
	p.young[id] = r
	p.lingers(id)
	note(p.since, id, r)
	note(p.later, id, r)
	if r == ended && len(p.unended) > 0 {
		delete(p.unended, id)
	}
}

// beginAt has everything that is printed from now on remembered, of runs that were inserted after a moment, where nothing was printed yet.
func (p *printed) beginAt(at time.Time) {
	if len(p.young)+len(p.old)+len(p.unended) == 0 {
		p.whole = at
	}
}

// knows says whether it is known how far a run was printed, be it not at all.
func (p *printed) knows(row *store.StreamRow) bool {
	if p.at(row.ID) > 0 || !p.whole.IsZero() && row.CreatedAt.After(p.whole) {
		return true
	}
	_, unseen := slices.BinarySearchFunc(p.unseen, row.ID, spanBefore)
	return unseen
}

// full says that the generations may turn: whoever prints does so once nobody can tell again what would be dropped.
func (p *printed) full() bool { return len(p.young) >= printedLimit }

// turn drops the older generation.
func (p *printed) turn() {
	for id, r := range p.old {
		if r < ended && len(p.unended) < unendedLimit {
			p.unended[id] = r
		}
	}
	for id := range p.unended {
		if p.young[id] == ended || p.old[id] == ended {
			delete(p.unended, id)
		}
	}
	if len(p.old) > 0 {
		p.whole = time.Time{}
	}
	p.young, p.old = make(map[int64]uint8, printedLimit/4), p.young
}
