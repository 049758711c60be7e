package store

import (
	"fmt"
	"strconv"
	"strings"
)

// InFlight are the transactions that a snapshot doesn't show, by their ids: those of others that are under way, from Oldest
// on, and all from Next on, of which none had an id yet. Where none is under way both are the same. The zero value says nothing.
type InFlight struct{ Oldest, Next uint64 }

// parseSnapshot reads a pg_snapshot, xmin:xmax:xip,... in ascending order, and behind it the age of the first transaction of all, 3.
// The session's own transaction is not in its list, but may be its xmin. From xmax on a snapshot names nobody, though some may be
// under way there: xmax is one more than the last transaction that had ended. The age, which is reckoned from the next id to be
// given, or from the session's own, says where that ends.
func parseSnapshot(text string) (InFlight, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return InFlight{}, fmt.Errorf("%q is no snapshot with an age", text)
	}
	next, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return InFlight{}, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	age, err := strconv.ParseInt(parts[3], 10, 32)
	if err != nil {
		return InFlight{}, fmt.Errorf("%q is no snapshot with an age: %w", text, err)
	}
	end := next
	next = nextID(next, int32(age))
	first, _, _ := strings.Cut(parts[2], ",")
	if first == "" {
		return InFlight{Oldest: end, Next: next}, nil
	}
	oldest, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return InFlight{}, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	return InFlight{Oldest: oldest, Next: next}, nil
}

// nextID is the id that no transaction had yet, by a snapshot's xmax and the age of the first transaction of all, 3.
func nextID(xmax uint64, age int32) uint64 {
	if ahead := int32(uint32(age) + 3 - uint32(xmax)); ahead > 0 { //nolint:gosec // ids are compared by their lower 32 bits
		return xmax + uint64(ahead)
	}
	return xmax
}

// Seen is what a snapshot shows.
type Seen struct {
	first, next uint64 // all below first, none from next on
	open        map[uint64]bool
}

// ParseSeen reads a pg_snapshot.
func ParseSeen(text string) (Seen, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Seen{}, fmt.Errorf("%q is no snapshot", text)
	}
	var s Seen
	var err error
	if s.first, err = strconv.ParseUint(parts[0], 10, 64); err == nil {
		s.next, err = strconv.ParseUint(parts[1], 10, 64)
	}
	s.open = map[uint64]bool{}
	for one := range strings.SplitSeq(parts[2], ",") {
		if one == "" || err != nil {
			continue
		}
		var xid uint64
		xid, err = strconv.ParseUint(one, 10, 64)
		s.open[xid] = true
	}
	if err != nil {
		return Seen{}, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	return s, nil
}

// Shows says that a committed transaction had been committed then. maybe: it can't be told, as a transaction's parts have
// numbers of their own, which a snapshot doesn't name.
func (s *Seen) Shows(xid uint64) (shown, maybe bool) {
	switch {
	case xid < s.first:
		return true, false
	case xid >= s.next || s.open[xid]:
		return false, false
	}
	return true, len(s.open) > 0
}
