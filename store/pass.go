package store

import "time"

// Capabilities say which runs a replica can take.
type Capabilities struct {
	Queues         []string
	Types          []string
	Databases      []string
	Commands       []string
	DefaultTimeout time.Duration // of runs whose task has none; 0: none
	// Rooms are those of the types that have one. Such runs are claimed by searches alone. nil: none.
	Rooms map[string]Room
	// Cursor is where searches begin; nil: each at the first run.
	Cursor *Cursor
}

// Pass is what one round trip promoted and claimed.
type Pass struct {
	Promoted int
	// Unclaimed is how many of them the trip may have left AVAILABLE: it hasn't claimed as many behind their promotion.
	Unclaimed int
	// Busy: another replica was promoting; look again in some ms.
	Busy bool
	// More: there is more to promote now.
	More bool
	// Gated: some of what was promoted may have waited long, and come before others in the order of claims.
	Gated bool
	// Marked: ends have left marks for the next pass.
	Marked bool
	// Limited: limits may apply to what the replica claims.
	Limited bool
	// Contended: claims were lost to other replicas while runs may be left.
	Contended bool
	// NextDue is when the next PENDING run is due, 0: none is known.
	NextDue time.Duration
	// Rescan is when to look for runs that searches have gone past, 0: they haven't.
	Rescan time.Duration
	// InFlight are the transactions that the pass can't have seen; zero where it only claimed.
	InFlight InFlight
	Claims   []Claim
}

// Promotion says what a pass promotes before it claims.
type Promotion int

// What a pass promotes.
const (
	PromoteNothing Promotion = iota // only claim: a slot became free
	PromoteDue                      // what is due and what the marks name
	PromoteSweep                    // and everything that could have been overlooked
)

// rescan notes when to search from the first run again.
func (p *Pass) rescan(d time.Duration) {
	if d > 0 && (p.Rescan == 0 || d < p.Rescan) {
		p.Rescan = d
	}
}

// due notes when the next PENDING run is due, in ms from now.
func (p *Pass) due(ms *float64) {
	if ms == nil {
		return
	}
	if d := time.Duration(min(*ms, 1e9) * float64(time.Millisecond)); p.NextDue == 0 || d < p.NextDue {
		p.NextDue = max(d, time.Microsecond)
	}
}
