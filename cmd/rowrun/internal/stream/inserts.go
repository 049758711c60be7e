package stream

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// ripe is how old a hole is before it is asked which transactions are open:
	// an id is drawn from the sequence before its transaction has a number.
	ripe = time.Second
	// wide holes come from ids given by hand, or from a bulk insert that was
	// rolled back. A look into one costs the same whatever its width.
	wide    = 1000
	maxWide = 16
	// maxHoles and maxLost bound what a look costs, and memory.
	maxHoles = 1000
	maxLost  = 10000
)

// hole is a range of ids that were passed over.
type hole struct {
	store.Span
	since time.Time
	// bound is a transaction number: whoever drew one of the ids has a smaller one. 0: not known yet.
	bound uint64
}

func (h hole) wide() bool { return h.High-h.Low >= wide }

// inserts knows which ids were seen.
type inserts struct {
	first int64     // ids up to here, but for holes, were there at the beginning
	began time.Time // by the database's clock
	high  int64     // nothing above was seen
	holes []hole    // ascending
	lost  []store.Span
}

func newInserts(start store.StreamStart, now time.Time) *inserts {
	in := &inserts{first: start.High, high: start.High, began: start.Now}
	for _, gap := range start.Gaps {
		in.holes = append(in.holes, hole{Span: gap, since: now})
	}
	return in
}

// ranges are where to look: the holes, and all beyond the highest id.
func (in *inserts) ranges() []store.Span {
	ranges := make([]store.Span, 0, len(in.holes)+1)
	for _, h := range in.holes {
		ranges = append(ranges, h.Span)
	}
	if in.high < math.MaxInt64 {
		ranges = append(ranges, store.Span{Low: in.high + 1, High: math.MaxInt64})
	}
	return ranges
}

// found takes in the answer to a look into ranges(), and says whether there may
// be more: a range had as many rows as were asked for.
func (in *inserts) found(look store.StreamInserts, limit int, now time.Time) (more bool) {
	rows := look.Rows
	kept := make([]hole, 0, len(in.holes)+8)
	for _, h := range in.holes {
		n := 0
		for n < len(rows) && rows[n].ID <= h.High {
			if rows[n].ID > h.Low {
				kept = append(kept, hole{store.Span{Low: h.Low, High: rows[n].ID - 1}, h.since, h.bound})
			}
			h.Low = rows[n].ID + 1
			n++
		}
		rows = rows[n:]
		more = more || n == limit
		switch {
		case h.Low > h.High:
			continue
		case n == limit: // not looked at to its end
		case h.bound == 0 && now.Sub(h.since) >= ripe:
			h.bound = look.Next
		case h.bound != 0 && look.Xmin >= h.bound && !h.wide():
			in.lose(h.Span)
			continue
		}
		kept = append(kept, h)
	}
	for _, row := range rows {
		if row.ID > in.high+1 {
			kept = append(kept, hole{Span: store.Span{Low: in.high + 1, High: row.ID - 1}, since: now})
		}
		in.high = row.ID
	}
	in.holes = kept
	in.prune()
	return more || len(rows) == limit
}

// prune keeps the cost of a look within bounds.
func (in *inserts) prune() {
	var broad []hole
	for _, h := range in.holes {
		if h.wide() {
			broad = append(broad, h)
		}
	}
	if len(broad) <= maxWide && len(in.holes) <= maxHoles {
		return
	}
	slices.SortFunc(broad, func(a, b hole) int { return cmp.Compare(b.High-b.Low, a.High-a.Low) })
	narrowest := int64(wide)
	if len(broad) > maxWide {
		narrowest = broad[maxWide-1].High - broad[maxWide-1].Low
	}
	excess := len(in.holes) - maxHoles
	in.holes = slices.DeleteFunc(in.holes, func(h hole) bool {
		if (h.wide() && h.High-h.Low < narrowest) || (!h.wide() && excess > 0) {
			excess--
			in.lose(h.Span)
			return true
		}
		return false
	})
}

func (in *inserts) lose(s store.Span) {
	i, _ := slices.BinarySearchFunc(in.lost, s.Low, spanBefore)
	in.lost = slices.Insert(in.lost, i, s)
	if len(in.lost) > maxLost {
		in.lost = slices.Delete(in.lost, 0, len(in.lost)-maxLost)
	}
}

// see marks the run of a transition as seen. True: its insert has not been
// printed before, and is to be printed.
func (in *inserts) see(row *store.StreamRow) bool {
	id := row.ID
	if i, ok := slices.BinarySearchFunc(in.holes, id, func(h hole, id int64) int { return spanBefore(h.Span, id) }); ok {
		h := in.holes[i]
		in.holes = slices.Delete(in.holes, i, i+1)
		for _, part := range [...]store.Span{{Low: id + 1, High: h.High}, {Low: h.Low, High: id - 1}} {
			if part.Low <= part.High {
				in.holes = slices.Insert(in.holes, i, hole{part, h.since, h.bound})
			}
		}
		return true
	}
	if i, ok := slices.BinarySearchFunc(in.lost, id, spanBefore); ok {
		s := in.lost[i]
		in.lost = slices.Delete(in.lost, i, i+1)
		for _, part := range [...]store.Span{{Low: s.Low, High: id - 1}, {Low: id + 1, High: s.High}} {
			if part.Low <= part.High {
				in.lose(part)
			}
		}
		return true
	}
	// An id given by hand, below all that a look is for.
	return id <= in.first && row.CreatedAt.After(in.began)
}

// spanBefore orders a span against an id; 0: the id is in it.
func spanBefore(s store.Span, id int64) int {
	switch {
	case s.High < id:
		return -1
	case s.Low > id:
		return 1
	}
	return 0
}
