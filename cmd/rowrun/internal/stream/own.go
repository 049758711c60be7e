package stream

import (
	"sync"

	"github.com/rowrun/rowrun/store"
)

// ownMost bounds the memory of a replica's own rows: that many are kept at least, twice as many at most. Runs that take long
// fall out, and are read.
const ownMost = 1 << 13

// Own are rows of runs as this replica has written them, by the answers to its own claims and ends. A reader that is told of
// these transitions by a notification needn't read the rows: it would find what stands here. Only who writes the stream from
// rows keeps them. A nil Own knows none.
type Own struct {
	mu         sync.Mutex
	kept       bool
	young, old map[int64]*store.StreamRow
}

// keep begins to keep rows, or ends it and forgets them.
func (o *Own) keep(on bool) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = on
	o.young, o.old = map[int64]*store.StreamRow{}, nil
}

// Claimed takes in claims that were committed.
func (o *Own) Claimed(claims []store.Claim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.kept {
		return
	}
	for i := range claims {
		if row := claims[i].StreamRow(); row != nil {
			o.set(row)
		}
	}
}

// Ended takes in ends that were committed: of runs whose claims are known, where the end says all that their rows tell.
func (o *Own) Ended(ended []store.Ended) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.kept {
		return
	}
	for i := range ended {
		e := &ended[i]
		row := o.find(e.ID)
		if row == nil {
			continue
		}
		if e.Status != "DONE" || e.Xid == 0 {
			o.drop(e.ID)
			continue
		}
		done := *row
		done.Status, done.Prev, done.FinishedAt, done.Xid = e.Status, "RUNNING", e.FinishedAt, e.Xid
		o.set(&done)
	}
}

// row is the row of a run that has come to a status of this rank, nil where none is known. One that has ended is given once.
func (o *Own) row(id int64, least uint8) *store.StreamRow {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	row := o.find(id)
	if row == nil || rank(row.Status) < least {
		return nil
	}
	if rank(row.Status) == ended {
		o.drop(id)
	}
	return row
}

func (o *Own) find(id int64) *store.StreamRow {
	if row := o.young[id]; row != nil {
		return row
	}
	return o.old[id]
}

func (o *Own) set(row *store.StreamRow) {
	if len(o.young) >= ownMost {
		o.young, o.old = make(map[int64]*store.StreamRow, ownMost), o.young
	}
	o.young[row.ID] = row
}

func (o *Own) drop(id int64) {
	delete(o.young, id)
	delete(o.old, id)
}
