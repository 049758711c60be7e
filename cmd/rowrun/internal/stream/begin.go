package stream

import (
	"context"
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
		if batch.Gap != "" || len(batch.Transitions) > 0 {
			r.batch = batch
			break
		}
	}
	var start store.StreamStart
	var history *store.StreamHistory
	err := r.retry(ctx, historyTimeout, func(ctx context.Context) (err error) {
		start, history, err = r.config.Store.OpenStream(ctx, r.config.Since)
		return err
	})
	if err != nil {
		return nil //nolint:nilerr // only the end of ctx is one
	}
	if r.config.Gap != "" {
		r.config.Printer.gap(time.Now(), r.config.Gap)
	}
	if history != nil {
		if err := r.past(ctx, history); err != nil {
			return err
		}
	}
	r.inserts = newInserts(start, time.Now())
	r.lookAt, r.begun = time.Now(), true
	return r.config.Printer.flush()
}

// past prints the history. Its last runs are remembered: what happened since
// the subscription is told again.
func (r *Reader) past(ctx context.Context, history *store.StreamHistory) error {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
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
			l := pending(&p.StreamRow)
			if p.From != "" {
				l.From, l.To, l.ReplicaID = p.From, p.To, p.ReplicaID
				l = change(l.Transition, &p.StreamRow, time.Time{})
			}
			r.config.Printer.transition(l)
			r.printed.set(p.ID, rank(l.To))
		}
		if err := r.config.Printer.flush(); err != nil {
			return err
		}
	}
	return nil
}
