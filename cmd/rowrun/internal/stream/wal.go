package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	// slotRetry is how often a slot is asked for that somebody else still holds, and how often anything else is tried again.
	slotRetry = time.Second
	// slotPatience is how long making a slot may wait for transactions that are open.
	slotPatience = 5 * time.Second
	// recordEvery is how often the position is written down while lines are.
	recordEvery = time.Second
	// thinEvery is how often old positions are thinned out.
	thinEvery = time.Minute
	maxLabels = 100000
	// labelAge is how long a task's failure_log_level is remembered: a change of it holds after that.
	labelAge = 5 * time.Second
)

// errUnfit means that the stream can't be read from the log here; waiting doesn't mend it.
var errUnfit = errors.New("the stream can't be read from the write-ahead log")

// WALConfig says what a WAL reads.
type WALConfig struct {
	// Store and Printer as in Config. Required.
	Store   *store.Store
	Printer *Printer
	// ConnConfig leads to the server itself. Required.
	ConnConfig *pgx.ConnConfig
	// Log is told of trouble.
	Log zerolog.Logger
	// Asked: nothing else will do. Otherwise the log is read only where a bound
	// keeps its slot from filling the disk, and Run ends where it can't be.
	Asked bool
	// Inserted, where not nil, is called when new runs were seen. It must not block.
	Inserted func()
}

// WAL prints the stream from the write-ahead log: every committed transition
// once, in the order of the commits. Its place is kept by the server, in the
// deployment's slot, and moves only behind what was written.
type WAL struct {
	config WALConfig
	rep    atomic.Pointer[events.Replication] // while it reads
	lines  atomic.Uint64                      // that were written
	// turned has one slot: what Reading says may have changed.
	turned chan struct{}
	stuck  atomic.Pointer[string] // why nothing is read; nil: something is, or needn't be

	// Run only.
	labels  map[int64]label
	printed *printed   // how far runs were told, by rows or log
	overlap events.LSN // up to where the log tells what rows have told
	last    events.LSN // commit of the last transaction that was written as a whole
	told    events.LSN // commit of the last transaction of which anything was written
	where   placeOf    // of last and told
	moved   events.LSN // what the server was told last
	gap     string     // why there is one that is still to be said
	layout  columns    // of relation
	rel     *events.Relation
	said    string
	began   bool // this run has read
	broken  int  // tries in a row that failed as if there were no slot
	// resume is where rows were read to, in the place of a gap: by this replica, or one that has left the stream to it.
	resume  *store.StreamPoint
	renewed bool // the slot was made for that
	// made is the slot where it was made for this connection, with what was committed before.
	made *events.MadeSlot
	// since is when this replica became the writer: where no position is known, rows tell what came after that.
	since *store.StreamPoint
	// turnedAt is when the memory of what was printed turned, recorded when the moment was that was written down last,
	// in ns.
	turnedAt time.Time
	recorded atomic.Int64
}

// placeOf tells one history of the log from another.
type placeOf struct {
	system   string
	timeline int
}

// newWAL checks a configuration.
func newWAL(config WALConfig) (*WAL, error) {
	if config.Store == nil || config.Printer == nil || config.ConnConfig == nil {
		return nil, errors.New("stream: a store, a printer and a connection's configuration are required")
	}
	return &WAL{config: config, labels: map[int64]label{}, printed: newPrinted(), turned: make(chan struct{}, 1)}, nil
}

// reading says that what is committed arrives here at once.
func (w *WAL) reading() bool {
	rep := w.rep.Load()
	return rep != nil && !rep.Stalled()
}

// unsure says that what Reading says may change without a word: the reader is behind.
func (w *WAL) unsure() bool {
	rep := w.rep.Load()
	return rep != nil && rep.Full()
}

// reads takes note of the connection that is read from; nil: of none any more.
func (w *WAL) reads(rep *events.Replication) {
	w.rep.Store(rep)
	w.turn()
}

func (w *WAL) turn() {
	select {
	case w.turned <- struct{}{}:
	default:
	}
}

// run prints until ctx or stopping ends (nil), the output fails (ErrOutput), or the log can't be read, as no slot can be
// made for instance (errUnfit, unless it was asked for). After stopping what
// was committed until then is still printed, for at most a second. before is
// who wrote the stream before, "" for nobody.
func (w *WAL) run(ctx, stopping context.Context, before string) error {
	defer w.stuck.Store(nil)
	defer w.keep(nil)
	w.moved, w.gap, w.broken, w.began = 0, "", 0, false // others may have read since
	for ctx.Err() == nil && stopping.Err() == nil {
		var rep *events.Replication
		err := w.renew(ctx)
		if err == nil {
			rep, err = w.open(ctx, before)
		}
		if err == nil {
			before, w.said, w.began = "", "", true
			w.stuck.Store(nil)
			began := time.Now()
			err = w.follow(ctx, stopping, rep)
			// The server may take a reader, and refuse it at the first transaction.
			switch {
			case time.Since(began) > slotPatience:
				w.broken = 0
			case unreadable(err):
				w.broken++
			}
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrOutput), errors.Is(err, errUnfit) && !w.config.Asked:
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // that is why it failed
		}
		why := reasonOf(err)
		w.stuck.Store(&why)
		w.complain(err)
		_ = pause(stopping, slotRetry)
	}
	return nil
}

// follow prints what one connection brings.
func (w *WAL) follow(ctx, stopping context.Context, rep *events.Replication) error {
	defer rep.Close()
	run, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	w.reads(rep)
	defer w.reads(nil)
	defer func() { _, w.moved = rep.Position() }()
	ended := make(chan error, 1)
	wg.Go(func() { ended <- rep.Run(run) })
	wg.Go(func() { w.keepRecorded(run, rep, w.where) })

	for stopping.Err() == nil {
		txs, err := rep.Next(stopping)
		if err != nil {
			break
		}
		if err := w.print(run, txs, rep); err != nil {
			return err
		}
	}
	if stopping.Err() != nil && ctx.Err() == nil {
		if err := w.drain(run, rep); err != nil {
			return err
		}
	}
	stop()
	return <-ended
}

// drain prints what was committed up to now.
func (w *WAL) drain(ctx context.Context, rep *events.Replication) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	moment, err := w.config.Store.StreamMoment(ctx)
	if err != nil {
		return nil //nolint:nilerr // the next reader begins where this one ends
	}
	end, err := events.ParseLSN(moment.LSN)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
		defer cancel()
		_ = w.record(last, rep, w.where, moment)
	}()
	for {
		if received, _ := rep.Position(); received >= end {
			ctx, cancel = context.WithTimeout(ctx, settle/10) // what is pending comes at once
			defer cancel()
		}
		wait, cancel := context.WithTimeout(ctx, settle/2)
		txs, err := rep.Next(wait)
		cancel()
		switch {
		case err == nil:
			if err := w.print(ctx, txs, rep); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return nil
		}
	}
}

// keepRecorded writes down how far the stream was written: where the slot is
// lost, the rows tell what came after that, and who asks for a place begins there.
func (w *WAL) keepRecorded(ctx context.Context, rep *events.Replication, where placeOf) {
	var moment store.StreamMoment
	var recorded, then uint64 // lines
	var taken, thinned time.Time
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.lines.Load() == recorded {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, queryTimeout)
		if moment.LSN != "" && w.record(limited, rep, where, moment) {
			recorded, moment = then, store.StreamMoment{}
			w.recorded.Store(taken.UnixNano())
		}
		if lines := w.lines.Load(); moment.LSN == "" && lines != recorded {
			began := time.Now()
			if m, err := w.config.Store.StreamMoment(limited); err == nil {
				moment, then, taken = m, lines, began
			}
		}
		if time.Since(thinned) >= thinEvery && w.config.Store.ThinStreamPositions(limited) == nil {
			thinned = time.Now()
		}
		cancel()
	}
}

// record writes a moment down; false: not all that was committed before it has been written, or it could not be.
func (w *WAL) record(ctx context.Context, rep *events.Replication, where placeOf, m store.StreamMoment) bool {
	_, confirmed := rep.Position()
	end, err := events.ParseLSN(m.LSN)
	if err != nil || confirmed < end {
		return false
	}
	return w.config.Store.RecordStreamPosition(ctx, store.StreamPosition{
		SystemID: where.system, Timeline: where.timeline, LSN: m.LSN, Point: m.Point,
	}) == nil
}

// trouble says why nothing is read; "": something is, or needn't be.
func (w *WAL) trouble() string {
	if why := w.stuck.Load(); why != nil {
		return *why
	}
	return ""
}

// reasonOf is why the log can't be read, for whoever may ask: what a connection says of itself is left out.
func reasonOf(err error) string {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, events.ErrSlotTimeout):
		return events.ErrSlotTimeout.Error()
	case errors.Is(err, events.ErrSlotInUse):
		return events.ErrSlotInUse.Error()
	case errors.As(err, &refused):
		return refused.Message
	case errors.Is(err, errUnfit):
		return err.Error()
	}
	return "the connection for it was lost, or can't be made"
}

// complain logs trouble, once until it changes.
func (w *WAL) complain(err error) {
	why := fmt.Sprintf("%T %s", errors.Unwrap(err), store.SQLState(err))
	if why == w.said {
		return
	}
	w.said = why
	if errors.Is(err, events.ErrSlotInUse) {
		w.config.Log.Info().Msg("the stream's slot is still held; standing by")
		return
	}
	w.config.Log.Warn().Err(err).Msg("stream can't be read from the log; trying again")
}
