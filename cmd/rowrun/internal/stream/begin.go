package stream

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

// begin finds the place in the table from where on everything is printed, once
// notifications are heard, and prints the past where that was asked for.
func (r *Reader) begin(ctx context.Context) error {
	if r.begun {
		return nil
	}
	for !r.config.Connected() {
		// A batch is no more than a reason to ask again: each connection says look.
		batch, err := r.batches.Next(ctx)
		if err != nil {
			return nil //nolint:nilerr // only the end of ctx is one
		}
		if batch.Gap != "" || batch.Skipped || len(batch.Reached) > 0 {
			r.batch = batch
			break
		}
	}
	start, err := r.tellPast(ctx)
	if err != nil || ctx.Err() != nil {
		return err // not all is told
	}
	seen, err := store.ParseSeen(start.Snapshot)
	if err != nil {
		return err
	}
	r.floor = floor{start.Now, seen}
	r.turned = moment{start.Point(), time.Now()}
	for id, now := range start.Last {
		if was := r.printed.at(id); was < rank(now) {
			r.printed.young[id] = rank(now) // of the past, or printed just now, by another one
			r.printed.lingers(id)
		}
	}
	r.printed.unseen = nil // inserts know from here on
	r.atTaken = r.turned.taken
	if r.config.left {
		// The point of the one before stays until another is some seconds old: a transaction that has been open since
		// then, and that neither of us has seen, has older times than this moment.
		r.at.Store(&heardPoint{*r.config.From, 0})
	} else {
		r.at.Store(&heardPoint{start.Point(), r.config.Printer.count()})
		r.printed.begin()
	}
	r.inserts = newInserts(start, time.Now())
	r.lookAt, r.begun = time.Now(), true
	return r.config.Printer.flush()
}

// tellPast prints what was asked for of the past, and returns the moment from where on it is told as it happens. Where the
// database goes away meanwhile it begins anew, and leaves out what is printed; the error is that of the output.
func (r *Reader) tellPast(ctx context.Context) (store.StreamStart, error) {
	for {
		start, history, err := r.open(ctx)
		if err != nil {
			return start, nil //nolint:nilerr // only the end of ctx is one
		}
		if r.config.Gap != "" {
			r.config.Printer.gap(time.Now(), r.config.Gap)
			r.config.Gap = ""
		}
		if history == nil {
			return start, nil
		}
		err = tell(ctx, history, r.config.Printer, r.printed)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrOutput) {
			return start, outputOf(err)
		}
		r.config.Log.Warn().Err(err).Msg("stream could not read what the runs know of the past; trying again")
		if pause(ctx, sooner(time.Second, 0.5, r.config.Random)) != nil {
			return start, nil //nolint:nilerr // only the end of ctx is one
		}
	}
}

func (r *Reader) open(ctx context.Context) (start store.StreamStart, history *store.StreamHistory, err error) {
	err = r.retry(ctx, historyTimeout, func(ctx context.Context) (err error) {
		if r.config.From != nil {
			start, history, err = r.config.Store.OpenStreamAt(ctx, r.config.From, r.printed.unseen)
			return err
		}
		start, history, err = r.config.Store.OpenStream(ctx, r.config.Since)
		return err
	})
	return start, history, err
}

// catchUp prints what the rows know of a gap: what happened since the last
// moment of which everything was heard.
func (r *Reader) catchUp(ctx context.Context) error {
	at := r.at.Load()
	if at == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	taken := time.Now()
	unseen := r.inserts.ranges()
	start, history, err := r.config.Store.OpenStreamAt(limited, &at.StreamPoint, unseen)
	if err != nil {
		if ctx.Err() == nil {
			r.config.Log.Warn().Err(err).Msg("stream could not read what the runs know of the gap")
		}
		r.owes = true
		return nil
	}
	r.printed.unseen = unseen
	defer func() { r.printed.unseen = nil }()
	if err := tell(ctx, history, r.config.Printer, r.printed); err != nil || ctx.Err() != nil {
		r.owes = true
		return err
	}
	r.at.Store(&heardPoint{start.Point(), r.config.Printer.count()})
	r.atTaken = taken
	r.printed.begin()
	return nil
}

// tell prints a history but for what was printed, and remembers it: what the
// history ends with is told again by whoever tells what comes next.
func tell(ctx context.Context, history *store.StreamHistory, printer *Printer, printed *printed) error {
	defer func() { // behind ctx its connection is dropped: nobody waits for an answer, and prints after that
		ctx, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		history.Close(ctx)
	}()
	for ctx.Err() == nil {
		page, cancel := context.WithTimeout(ctx, queryTimeout)
		past, err := history.Next(page, historyPage)
		cancel()
		if err != nil || len(past) == 0 {
			return err
		}
		for i := range past {
			p := &past[i]
			at, to := printed.at(p.ID), rank(p.To)
			if p.From == "" && insertedAvailable(&p.StreamRow) {
				to = 2
			}
			if at >= to {
				continue
			}
			if p.From == "" {
				printer.edges(&p.StreamRow, at, to)
			} else {
				if printed.knows(&p.StreamRow) { // what its transaction did long before it was committed, too
					printer.edges(&p.StreamRow, at, to-1)
				}
				l := pending(&p.StreamRow)
				l.From, l.To, l.ReplicaID = p.From, p.To, p.ReplicaID
				printer.transition(change(l.Transition, &p.StreamRow, time.Time{}))
			}
			printed.set(p.ID, to)
		}
		if err := printer.flush(); err != nil {
			return err
		}
	}
	return nil
}
