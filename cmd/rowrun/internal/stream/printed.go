package stream

// printedLimit is how many runs at least are remembered.
const printedLimit = 1 << 16

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
// in two generations of which the older is dropped as a whole.
type printed struct{ young, old map[int64]uint8 }

func newPrinted() *printed { return &printed{young: map[int64]uint8{}} }

// at is the rank of a run's last line; 0: none is remembered.
func (p *printed) at(id int64) uint8 {
	if r, ok := p.young[id]; ok {
		return r
	}
	return p.old[id]
}

func (p *printed) set(id int64, r uint8) {
	if len(p.young) >= printedLimit {
		p.young, p.old = make(map[int64]uint8, printedLimit/4), p.young
	}
	p.young[id] = r
}
