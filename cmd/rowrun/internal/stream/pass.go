package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// pass looks for inserts, then prints what the rows tell of the batch that was
// taken. What the database could not answer before ctx ended stays for the next
// pass; the error is that of the output.
func (r *Reader) pass(ctx context.Context) error {
	now := time.Now()
	lines := r.config.Printer.count()
	r.printed.tick(now)
	if err := r.mend(ctx, now); err != nil {
		return err
	}
	nothing := len(r.batch.Reached) == 0 && !r.batch.Look && !r.soon
	r.plan(now)
	r.batch.Look = false
	for first := true; first || len(r.batch.Reached) > 0; first = false {
		part := r.batch.Reached[:min(chunk, len(r.batch.Reached))]
		rows, err := r.read(ctx, part, first)
		if err != nil {
			return r.config.Printer.flush() // ctx is over
		}
		for i := range part {
			switch row, read := rows[part[i].RunID]; {
			case row != nil:
				r.told(&part[i], row)
			case read:
				r.removed(part[i].RunID, now)
			}
		}
		if r.batch.Reached = r.batch.Reached[len(part):]; len(r.batch.Reached) == 0 {
			r.batch.Reached = nil
		}
		if err := r.config.Printer.flush(); err != nil {
			return err
		}
	}
	if nothing {
		r.release(now.Add(-patience))
	}
	r.release(now.Add(-muchPatience)) // there may always be something
	r.sure(now)
	r.vain.spend(r.config.Printer.count() == lines)
	return r.config.Printer.flush() // what was released: a stop may follow
}

// mend looks at the rows where transitions may have been missed. A gap that whoever notifies can bring about, by telling
// more than is read, is said and mended once in a while.
func (r *Reader) mend(ctx context.Context, now time.Time) error {
	switch {
	case r.batch.Gap == events.GapOverflow:
		r.owed, r.owes = r.batch.Gap, true
	case r.batch.Gap != "":
		r.config.Printer.gap(now, r.batch.Gap)
		r.batch.Gap, r.batch.Skipped, r.owed, r.owes = "", false, "", false
		return r.mended(ctx, now)
	case r.batch.Skipped:
		r.owes = true
	}
	r.batch.Gap, r.batch.Skipped = "", false
	if !r.owes || now.Before(r.mendAt) {
		return nil
	}
	if r.owed != "" {
		r.config.Printer.gap(now, r.owed)
	}
	r.owed, r.owes = "", false
	err := r.mended(ctx, now)
	r.mendAt = now.Add(r.config.mendPause)
	if !r.owes { // there was an answer; how long none came says nothing of what one costs
		r.mendAt = now.Add(max(r.config.mendPause, 10*time.Since(now)))
	}
	return err
}

// mended tells what the rows know. Successors that waited for the ends before them follow these.
func (r *Reader) mended(ctx context.Context, now time.Time) error {
	r.fresh = nil
	err := r.catchUp(ctx)
	if !r.owes {
		r.release(now)
	}
	return outputOf(err)
}

func outputOf(err error) error {
	if errors.Is(err, ErrOutput) {
		return err
	}
	return nil
}

// heard takes in the moment of a look at the beginning of a pass: what was
// committed before it will have been heard some seconds later, unless the
// connection is lost in between.
func (r *Reader) heard(at store.StreamPoint) {
	if r.printed.full() && (!r.turned.taken.After(r.atTaken) || len(r.printed.young) >= printedMost) {
		// All that was committed before the last turn has been heard, and what is forgotten now was printed before it.
		if seen, err := store.ParseSeen(r.turned.Snapshot); err == nil {
			r.floor = floor{at: r.turned.At, seen: seen}
		}
		r.printed.turn()
		r.turned = moment{at, time.Now()}
	}
	if r.fresh == nil {
		r.fresh, r.taken = &heardPoint{at, r.config.Printer.count()}, time.Now()
		r.printed.mark()
	}
}

// sure ends a pass: all that had been heard when it began is printed. Behind a gap that is still to come it is not known what
// was heard.
func (r *Reader) sure(began time.Time) {
	if r.fresh == nil || began.Sub(r.taken) < trusted || r.owes || r.untold.waits() || r.batches.Lost() {
		return
	}
	r.at.Store(r.fresh)
	r.atTaken, r.fresh = r.taken, nil
	r.printed.moveOn()
}

// plan sets when to look next: soon after an announcement once more, otherwise
// after the long interval.
func (r *Reader) plan(now time.Time) {
	if r.batch.Look {
		r.lookAt, r.soon = now.Add(behind), true
		return
	}
	if !r.soon || !now.Before(r.lookAt) {
		r.lookAt, r.soon = now.Add(r.config.Look), false
	}
}

// read prints the inserts that it finds, and returns the rows of the part's
// runs: those that exist and may have something to tell.
func (r *Reader) read(ctx context.Context, part []events.Reached, first bool) (map[int64]*store.StreamRow, error) {
	rows := make(map[int64]*store.StreamRow, len(part))
	told := make(map[int64]uint8, len(part)) // how far, by what is to be told
	for i := range part {
		if to := rank(part[i].To); r.printed.at(part[i].RunID) < to {
			rows[part[i].RunID] = nil
			told[part[i].RunID] = max(told[part[i].RunID], to)
		}
	}
	for more := true; more; {
		var look store.StreamInserts
		ranges := r.inserts.ranges()
		err := r.retry(ctx, queryTimeout, func(ctx context.Context) (err error) {
			look, err = r.config.Store.StreamInserts(ctx, ranges, chunk)
			return err
		})
		if err != nil {
			return nil, err
		}
		if first {
			r.quiet(&look)
			r.heard(look.Point)
			first = false
		}
		more = r.inserts.found(look, chunk, time.Now())
		for i := range look.Rows {
			row := &look.Rows[i]
			r.insert(row, rows)
			if _, named := rows[row.ID]; named {
				rows[row.ID] = row
			}
		}
	}
	var missing []int64
	for i := range part {
		id := part[i].RunID
		if row, named := rows[id]; !named || row != nil {
			continue
		}
		if id > r.inserts.high { // the look would have found it
			delete(rows, id)
			continue
		}
		if own := r.config.Own.row(id, told[id]); own != nil {
			rows[id] = own
			continue
		}
		missing = append(missing, id)
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	if allowed := r.futile.allowed(); len(missing) > allowed {
		for _, id := range missing[allowed:] {
			delete(rows, id)
		}
		missing = missing[:allowed]
		r.owes = true // the rows are looked at as a whole
	}
	if len(missing) == 0 {
		return rows, nil
	}
	var found []store.StreamRow
	err := r.retry(ctx, queryTimeout, func(ctx context.Context) (err error) {
		found, err = r.config.Store.StreamRows(ctx, missing)
		return err
	})
	vain := len(missing)
	for i := range found {
		rows[found[i].ID] = &found[i]
		if r.news(&found[i]) {
			vain--
		}
	}
	r.futile.take(vain)
	return rows, err
}

// insert prints the line of a run that was found. A successor waits for the end
// that it follows, which was committed with it but may still have to be told,
// and so does the successor of one that waits.
func (r *Reader) insert(row *store.StreamRow, named map[int64]*store.StreamRow) {
	if r.printed.at(row.ID) > 0 {
		return
	}
	if row.RetryOf != nil {
		at := r.printed.at(*row.RetryOf)
		if _, toCome := named[*row.RetryOf]; at < ended && (at > 0 || toCome || r.waits(*row.RetryOf)) {
			r.deferred[*row.RetryOf] = successor{row: *row, since: time.Now()}
			return
		}
	}
	r.arrived(row)
}

// arrived prints what the INSERT of a run has told: that it is PENDING, and of one that needs no promotion that it is
// AVAILABLE, as far as its row still shows that. Of one that has ended it prints all: a quiet transaction says nothing of what
// becomes of its own inserts.
func (r *Reader) arrived(row *store.StreamRow) {
	r.config.Printer.transition(pending(row))
	r.printed.set(row.ID, 1)
	if insertedAvailable(row) {
		r.config.Printer.transition(available(row))
		r.printed.set(row.ID, 2)
	}
	if rank(row.Status) == ended {
		r.config.Printer.edges(row, 1, ended)
		r.printed.set(row.ID, ended)
		r.follow(row.ID, 0)
	}
}

// waits says that a run is a successor whose line waits.
func (r *Reader) waits(run int64) bool {
	for _, late := range r.deferred {
		if late.row.ID == run {
			return true
		}
	}
	return false
}

// told prints what a run's row tells, up to what somebody said of it. Who said so may be anybody: what the row doesn't
// show has not happened, and what was printed isn't printed again.
func (r *Reader) told(t *events.Reached, row *store.StreamRow) {
	most := rank(t.To)
	if row.RetryOf != nil {
		r.follow(*row.RetryOf, row.ID)
	}
	at := r.printed.at(row.ID)
	if r.inserts.see(row) && at == 0 {
		r.arrived(row)
		at = r.printed.at(row.ID)
	}
	now := rank(row.Status)
	before := r.before(row, at, most)
	r.config.Printer.edges(row, before, min(most, now))
	if last := min(most, now); last > at {
		r.printed.set(row.ID, max(last, before))
		if max(last, before) == ended {
			r.follow(row.ID, 0)
		}
	}
}

// removed says that something may be missing of a run that was printed, hadn't ended, and has no row any more.
func (r *Reader) removed(id int64, now time.Time) {
	if at := r.printed.at(id); at > 0 && at < ended {
		r.printed.set(id, ended)
		r.config.Printer.gap(now, gapRemoved)
	}
}

// news says that a row has something to tell that wasn't printed.
func (r *Reader) news(row *store.StreamRow) bool {
	return r.before(row, r.printed.at(row.ID), ended) < rank(row.Status)
}

// before is how far a run was printed: at, if it is remembered. Of one that isn't, 0, that is what its row was before the floor: all that
// was committed then was told, to whom it may concern. named is the status that somebody said it has reached: that may have
// an older time, where its transaction was open at the floor and the run has gone on since.
func (r *Reader) before(row *store.StreamRow, at, named uint8) uint8 {
	if at > 0 {
		return at
	}
	now := rank(row.Status)
	shown, maybe := r.floor.seen.Shows(row.Xid)
	if shown && !maybe {
		return now
	}
	for at = 1; at < now; at++ {
		since := r.floor.at
		if !shown && (at+1 == named || row.Prev != "" && at >= rank(row.Prev)) {
			since = since.Add(-straddle)
		}
		if l, happened := edge(row, at+1); happened && !l.at.Before(since) {
			return at
		}
	}
	// The newest is told by the transaction that wrote it, as one that commits late has an old time.
	if l, _ := edge(row, now); row.Prev != "" && (!shown || l.at.After(r.floor.at.Add(-straddle))) {
		return rank(row.Prev)
	}
	return now
}

// follow prints a deferred successor of a run; id, where not 0, is what the
// successor must be.
func (r *Reader) follow(run, id int64) {
	late, ok := r.deferred[run]
	if !ok || (id != 0 && late.row.ID != id) {
		return
	}
	delete(r.deferred, run)
	if r.printed.at(late.row.ID) == 0 { // otherwise it was told from the rows meanwhile
		r.arrived(&late.row)
	}
}

// release prints the successors that were deferred before a moment: the ends before them are not told.
func (r *Reader) release(before time.Time) {
	for _, run := range slices.Sorted(maps.Keys(r.deferred)) {
		if !r.deferred[run].since.After(before) {
			r.follow(run, 0)
		}
	}
}

// successor is a run that waits for the end that it follows to be printed.
type successor struct {
	row   store.StreamRow
	since time.Time
}

const gapRemoved = "a run was removed before its last transitions could be read"

// patience is how long the notification of an end may take after its commit was seen.
const patience = time.Second

// muchPatience is how long it may take where something comes all the time.
const muchPatience = 5 * time.Second
