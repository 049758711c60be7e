package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// Reasons of gaps, besides those of a changed server.
const (
	gapSlotMissing = "the replication slot was missing"
	gapSlotLost    = "the server has removed log that the replication slot needed"
	gapSlotMoved   = "somebody else has read from the replication slot"
	gapSlotUnfit   = "the replication slot could not be read"
	gapNoLog       = "the stream was not read from the write-ahead log before"
	gapNoPosition  = "the replica that wrote the stream is gone, and had not said yet where it began"
)

// open brings the slot and a connection that reads from it about, and says what
// may be missing before its first line. before is who wrote the stream before.
func (w *WAL) open(ctx context.Context, before string) (*events.Replication, error) {
	defer w.keep(nil)
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	slot, err := w.config.Store.StreamSlot(limited)
	if err != nil {
		return nil, err
	}
	if why := slot.Unfit(w.config.Asked); why != "" {
		return nil, fmt.Errorf("%w: %s", errUnfit, why)
	}
	last, err := w.config.Store.LastStreamPosition(limited)
	if err != nil {
		return nil, err
	}
	// What was found before it is said stays until it is: a try may fail in between.
	if w.gap == "" && w.resume == nil {
		w.gap = w.gapOf(&slot, last, before)
		if w.gap == "" && !slot.Exists && last == nil { // nobody wrote before: what comes before the slot the rows tell
			w.resume, w.renewed = w.since, true
		}
	}
	if err := w.ready(ctx, &slot); err != nil {
		return nil, err
	}
	config := events.ReplicateConfig{
		ConnConfig: w.config.ConnConfig, Slot: slot.Name, Publication: store.StreamPublication, Inserted: w.config.Inserted, Filled: w.turn,
		Trim: trimResults(), Failover: !slot.Failover,
	}
	rep, err := events.OpenReplication(ctx, config)
	if err != nil && w.made != nil { // its session may have been the server's last one
		w.keep(nil)
		rep, err = events.OpenReplication(ctx, config)
	}
	if err != nil {
		return nil, w.refused(err)
	}
	if err := w.begin(ctx, rep, &slot, last, before); err != nil {
		rep.Close()
		return nil, err
	}
	return rep, nil
}

// gapOf says what the state of the slot means for what comes next.
func (w *WAL) gapOf(slot *store.SlotState, last *store.StreamPosition, before string) string {
	switch {
	case slot.Status == "lost":
		return gapSlotLost
	case !slot.Exists && last != nil && last.LSN != "":
		return gapSlotMissing
	case !slot.Exists && (last != nil || before != ""):
		return gapNoLog
	case slot.Exists && last == nil && before != "": // what came before the slot, its rows would have told
		return gapNoPosition
	case slot.Exists && w.moved != 0:
		if confirmed, err := events.ParseLSN(slot.Confirmed); err == nil && confirmed > w.moved {
			return gapSlotMoved
		}
	}
	return ""
}

// ready makes the slot where there is none that can be read.
func (w *WAL) ready(ctx context.Context, slot *store.SlotState) error {
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if slot.Exists && (slot.Status == "lost" || w.broken > 1) {
		if _, err := w.config.Store.DropStreamSlot(limited, slot.Name, false); err != nil {
			return w.unmade(ctx, err)
		}
		if w.gap == "" {
			w.gap = gapSlotUnfit
		}
		slot.Exists, w.broken = false, 0
	}
	if slot.Exists {
		if slot.Status == "unreserved" {
			w.config.Log.Warn().Int64("lag_bytes", slot.LagBytes).Msg("the stream's slot is about to lose its log: it is behind by more than max_slot_wal_keep_size")
		}
		return nil
	}
	w.last, w.told, w.moved, w.overlap = 0, 0, 0, 0
	made, err := events.MakeSlot(ctx, w.config.ConnConfig, slot.Name, slotPatience)
	if store.SQLState(err) == "42710" {
		return nil // another replica was faster; its connection will say so
	}
	w.keep(made)
	if err == nil {
		w.config.Log.Info().Str("slot", slot.Name).Msg("made the stream's replication slot")
	}
	return w.unmade(ctx, err)
}

// keep has what was committed before the slot seen until the rows have told it; nil: no longer.
func (w *WAL) keep(made *events.MadeSlot) {
	if w.made != nil {
		w.made.Close()
	}
	w.made = made
}

// unmade is why the slot could not be made. Who holds it up may do so for days, so that only where the log was asked for
// it is waited for.
func (w *WAL) unmade(ctx context.Context, err error) error {
	if err == nil || w.config.Asked || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errUnfit, err)
}

// unreadable means that a slot is of no use, where it goes on.
func unreadable(err error) bool {
	return errors.Is(err, events.ErrNoSlot) || errors.Is(err, events.ErrSlotLost)
}

// refused sorts out why the slot can't be read. The catalog said a moment ago
// that it is there and has its log: where that goes on, it is of no use.
func (w *WAL) refused(err error) error {
	if unreadable(err) {
		w.broken++
	}
	if errors.Is(err, events.ErrNotPossible) {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	return err
}

// begin says the gap, and what the rows know of it.
func (w *WAL) begin(ctx context.Context, rep *events.Replication, slot *store.SlotState, last *store.StreamPosition, before string) error {
	system := rep.System()
	where := placeOf{system.ID, system.Timeline}
	if w.resume == nil && last != nil && last.LSN != "" && (w.gap == "" || w.gap == gapSlotMissing) {
		if why := w.otherLog(slot, last, &system, before); why != "" {
			w.gap = why // and why there is no slot: a standby has none
		}
	}
	if w.where != where { // places and statuses of another history mean nothing here
		w.where, w.last, w.told, w.moved = where, 0, 0, 0
		if w.resume == nil {
			w.printed = newPrinted()
		}
	}
	if w.since != nil {
		w.printed.beginAt(w.since.At)
	}
	if w.gap == "" && w.resume == nil && last != nil {
		return nil
	}
	var m store.StreamMoment
	err := w.retry(ctx, func(ctx context.Context) (err error) {
		m, err = w.config.Store.StreamMoment(ctx)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case w.gap != "":
		err = w.sayGap(ctx, last)
	case w.resume != nil:
		err = w.past(ctx, w.resume)
	}
	if err != nil {
		return err
	}
	err = w.retry(ctx, func(ctx context.Context) error {
		return w.config.Store.RecordStreamPosition(ctx, store.StreamPosition{
			SystemID: where.system, Timeline: where.timeline, LSN: m.LSN, Point: m.Point,
		})
	})
	if err == nil {
		w.gap, w.resume, w.renewed, w.printed.unseen = "", nil, false, nil
	}
	return err
}

// renew makes a slot anew where rows were read until now: whatever the old one holds, rows have told. What is committed
// from then on it tells, and past what came before.
func (w *WAL) renew(ctx context.Context) error {
	if w.resume == nil || w.renewed {
		return nil
	}
	made, err := w.anew(ctx)
	if err != nil {
		return err
	}
	w.keep(made)
	w.renewed = true
	return nil
}

// anew makes the slot, in the place of one that nobody reads. errUnfit: the log can't be read here.
func (w *WAL) anew(ctx context.Context) (*events.MadeSlot, error) {
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	slot, err := w.config.Store.StreamSlot(limited)
	if err != nil {
		return nil, err
	}
	if why := slot.Unfit(w.config.Asked); why != "" {
		return nil, fmt.Errorf("%w: %s", errUnfit, why)
	}
	if slot.Exists {
		if _, err := w.config.Store.DropStreamSlot(limited, slot.Name, false); err != nil {
			return nil, w.unmade(ctx, err)
		}
	}
	made, err := events.MakeSlot(ctx, w.config.ConnConfig, slot.Name, slotPatience)
	return made, w.unmade(ctx, err)
}

func (w *WAL) sayGap(ctx context.Context, last *store.StreamPosition) error {
	lsn, point := "", w.since
	if last != nil {
		lsn, point = last.LSN, &last.Point
		if last.SystemID != "" && last.SystemID != w.where.system {
			point.Snapshot = "" // numbers of transactions mean something else on another server
		}
	}
	w.config.Printer.gapAfter(time.Now(), w.gap, lsn)
	if err := w.config.Printer.flush(); err != nil {
		return err
	}
	return w.past(ctx, point)
}

// past prints what the rows know since a point, but for what this replica has
// printed. Unless the slot was made just now, the log repeats some of it.
func (w *WAL) past(ctx context.Context, point *store.StreamPoint) error {
	limited, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	history, err := w.history(limited, point)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.config.Log.Warn().Err(err).Msg("stream could not read what the runs know of the gap")
		return nil
	}
	if err := tell(ctx, history, w.config.Printer, w.printed); err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrOutput) {
			return err
		}
		w.config.Log.Warn().Err(err).Msg("stream could not read all that the runs know of the gap")
	}
	var m store.StreamMoment
	err = w.retry(ctx, func(ctx context.Context) (err error) {
		m, err = w.config.Store.StreamMoment(ctx)
		return err
	})
	if err != nil {
		return err
	}
	w.overlap, err = events.ParseLSN(m.LSN)
	return err
}

// history is what the rows tell since a point: where the slot has just been made up to where the log begins, so that whoever reads the log after
// this replica repeats nothing by another place.
func (w *WAL) history(ctx context.Context, point *store.StreamPoint) (history *store.StreamHistory, err error) {
	if w.made != nil {
		if history, err = w.config.Store.OpenStreamBefore(ctx, w.made.Snapshot, point, w.printed.unseen); err == nil || ctx.Err() != nil {
			return history, err
		}
	}
	_, history, err = w.config.Store.OpenStreamAt(ctx, point, w.printed.unseen)
	return history, err
}

// otherLog is why the server's log isn't the one that was told, up to last; "": it is, or goes on where that ended.
func (w *WAL) otherLog(slot *store.SlotState, last *store.StreamPosition, system *events.System, before string) string {
	where := placeOf{system.ID, system.Timeline}
	why := changedServer(last, where)
	if why == "" || w.gap != "" || !w.kept(slot, last, system, before) {
		return why
	}
	w.config.Log.Info().Int("from", last.Timeline).Int("to", where.timeline).
		Msg("the stream goes on on the server's new timeline: its slot was kept in step, and nothing that was told is missing there")
	w.where, w.moved = where, 0
	return ""
}

// kept says that the log goes on where the stream stands, though the server's timeline has changed: the slot is one that a standby kept in step
// with its primary's, and all that was told is on the new timeline too. What this process told it knows. What another one told is no further
// than the standbys where the slot waited for these. last is up to where everything was written; what is told twice from there on is passed over.
func (w *WAL) kept(slot *store.SlotState, last *store.StreamPosition, system *events.System, before string) bool {
	fork, promoted := system.Forks[last.Timeline]
	written, err := events.ParseLSN(last.LSN)
	own := before == "" && w.where == placeOf{last.SystemID, last.Timeline}
	switch {
	case !slot.Exists || !slot.Synced || last.SystemID != system.ID || !promoted || err != nil:
		return false
	case own && w.told >= fork, !own && !last.StandbysFirst:
		return false
	}
	if !own {
		w.printed = newPrinted()
	}
	w.last = max(w.last, written-1) // a commit may stand right there
	return true
}

func changedServer(last *store.StreamPosition, where placeOf) string {
	switch {
	case last.SystemID != where.system:
		return "the database is on another server now"
	case last.Timeline != where.timeline:
		return fmt.Sprintf("the server's timeline changed from %d to %d", last.Timeline, where.timeline)
	}
	return ""
}
