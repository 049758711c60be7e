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

// pass looks for inserts, then prints the batch that was taken. What the
// database could not answer before ctx ended stays for the next pass; the error
// is that of the output.
func (r *Reader) pass(ctx context.Context) error {
	now := time.Now()
	if r.batch.Gap != "" {
		r.release(now)
		r.config.Printer.gap(now, r.batch.Gap)
		r.batch.Gap = ""
		r.fresh = nil
		if err := r.catchUp(ctx); err != nil && errors.Is(err, ErrOutput) {
			return err
		}
	}
	nothing := len(r.batch.Transitions) == 0 && !r.batch.Look && !r.soon
	r.plan(now)
	r.batch.Look = false
	for first := true; first || len(r.batch.Transitions) > 0; first = false {
		part := r.batch.Transitions[:min(chunk, len(r.batch.Transitions))]
		rows, err := r.read(ctx, part)
		if err != nil {
			return r.config.Printer.flush() // ctx is over
		}
		for _, t := range part {
			r.transition(t, rows[t.RunID], now)
		}
		if r.batch.Transitions = r.batch.Transitions[len(part):]; len(r.batch.Transitions) == 0 {
			r.batch.Transitions = nil
		}
		if nothing {
			r.release(now.Add(-patience))
		}
		if err := r.config.Printer.flush(); err != nil {
			return err
		}
	}
	return nil
}

// heard takes in the moment of a look: what was committed before it will have
// been heard some seconds later, unless the connection is lost in between.
func (r *Reader) heard(at store.StreamPoint) {
	if r.fresh != nil {
		if time.Since(r.taken) < trusted {
			return
		}
		r.at.Store(r.fresh)
	}
	r.fresh, r.taken = &heardPoint{at, r.config.Printer.lines}, time.Now()
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
// runs: those that exist.
func (r *Reader) read(ctx context.Context, part []events.Transition) (map[int64]*store.StreamRow, error) {
	rows := make(map[int64]*store.StreamRow, len(part))
	for _, t := range part {
		rows[t.RunID] = nil
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
		r.heard(look.Point)
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
	for id, row := range rows {
		if row == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return rows, nil
	}
	var found []store.StreamRow
	err := r.retry(ctx, queryTimeout, func(ctx context.Context) (err error) {
		found, err = r.config.Store.StreamRows(ctx, missing)
		return err
	})
	for i := range found {
		rows[found[i].ID] = &found[i]
	}
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
	r.config.Printer.transition(pending(row))
	r.printed.set(row.ID, 1)
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

// transition prints a line, once, behind that of its insert.
func (r *Reader) transition(t events.Transition, row *store.StreamRow, now time.Time) {
	next := rank(t.To)
	if next > 0 && r.printed.at(t.RunID) >= next {
		return
	}
	if row != nil {
		if row.RetryOf != nil {
			r.follow(*row.RetryOf, row.ID)
		}
		if r.inserts.see(row) && r.printed.at(t.RunID) == 0 {
			r.config.Printer.transition(pending(row))
		}
	}
	r.config.Printer.transition(change(t, row, now))
	r.printed.set(t.RunID, next)
	if next == ended {
		r.follow(t.RunID, 0)
	}
}

// follow prints a deferred successor of a run; id, where not 0, is what the
// successor must be.
func (r *Reader) follow(run, id int64) {
	late, ok := r.deferred[run]
	if !ok || (id != 0 && late.row.ID != id) {
		return
	}
	delete(r.deferred, run)
	r.config.Printer.transition(pending(&late.row))
	r.printed.set(late.row.ID, 1)
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

// patience is how long the notification of an end may take after its commit was seen.
const patience = time.Second
