package stream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowrun/rowrun/store"
)

// fromLog writes what the log tells. errUnfit: it can't be read, or no longer.
func (e *Election) fromLog(ctx context.Context, t *leadership, before string) error {
	run, stop := context.WithCancel(t.ctx)
	defer stop()
	var wg sync.WaitGroup
	if e.silence != nil {
		defer func() { e.silence.ended(context.WithoutCancel(t.ctx)) }()
	}
	defer wg.Wait()
	defer stop()
	if e.silence != nil {
		wg.Go(func() { e.silence.relay(run) })
		wg.Go(func() {
			e.silence.keep(run, t.ctx, e.wal)
			if t.ctx.Err() == nil && e.silence.held.Load() {
				e.silence.turn(t.ctx, false)
			}
		})
	}
	err := e.wal.run(t.ctx, ctx, before)
	if e.wal.began {
		e.forget() // what a reader of rows knows is of another time
	}
	return err
}

// inherit is what stands before a writer's first line: a gap, or what the last writer has left. Neither: nobody wrote before, or
// this replica, which goes on where it was.
func (e *Election) inherit(t *leadership, before string) (gap string, left *store.StreamHandover) {
	if before != "" || e.since == nil {
		e.since = &t.since
	}
	if e.wal != nil {
		e.wal.since = e.since
		if before != "" || e.wal.printed.whole.IsZero() { // others wrote, or something was forgotten
			e.wal.printed.whole = t.since.At
		}
	}
	if before == "" {
		if t.before != "" && e.reader == nil {
			gap = gapNotWritten
		}
		return gap, nil
	}
	if e.wal != nil {
		e.wal.resume = nil // of a time before another one wrote
	}
	if left = e.takeOver(t, before); left == nil {
		gap = gapWriterGone
	}
	return gap, left
}

// fallBack prepares for reading rows. Where nobody wrote before they are read from when this replica became the writer on: it may
// have tried for a while to read the log.
func (e *Election) fallBack(why error, gap string, left *store.StreamHandover) *store.StreamHandover {
	if gap == "" && left == nil && e.reader == nil {
		left = &store.StreamHandover{Point: *e.wal.since}
	}
	e.wal.resume = nil
	e.config.Log.Info().Str("reason", why.Error()).Msg("stream is read from notifications")
	return left
}

// takeOver takes what the last writer has left; nil: nothing.
func (e *Election) takeOver(t *leadership, before string) *store.StreamHandover {
	ctx, cancel := context.WithTimeout(t.ctx, queryTimeout)
	defer cancel()
	left, err := e.config.Store.TakeStream(ctx, before)
	if err != nil {
		e.config.Log.Warn().Err(err).Msg("what the last writer of the stream has left could not be read")
	}
	return left
}

// remembering is the memory of the writer that left the stream.
func remembering(left *store.StreamHandover) *printed {
	p := newPrinted()
	p.unseen = left.Unseen
	p.begin()
	for id, rank := range left.Runs {
		p.set(id, rank)
	}
	return p
}

// fromRows writes what notifications and rows tell; without a gap it goes on where it was, or where the last writer left
// it. climbed: the log can be read again, from a slot that holds all that is committed from now on.
func (e *Election) fromRows(ctx context.Context, t *leadership, gap string, left *store.StreamHandover) (climbed bool, err error) {
	run, stop := context.WithCancel(t.ctx)
	defer stop()
	unhook := context.AfterFunc(ctx, stop)
	defer unhook()
	if err := e.prepare(run, gap, left); err != nil || e.reader == nil {
		return false, err
	}
	e.config.Own.keep(true)
	defer e.config.Own.keep(false)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { e.keepRecorded(run) })
	up := make(chan struct{})
	if e.wal != nil && !e.wal.config.Asked {
		wg.Go(func() {
			if e.climb(run) {
				close(up)
				stop()
			}
		})
	}
	if e.silence != nil {
		e.silence.look(run) // whoever wrote before may have silenced INSERTs
	}
	err = e.reader.Run(run)
	select {
	case <-up:
		climbed = true
	default:
	}
	// A stop may come in the middle of what is read first: what was taken over is left to the next all the same.
	if (err == nil || errors.Is(err, context.Canceled)) && t.ctx.Err() == nil && ctx.Err() != nil {
		err = e.leave(t.ctx)
	}
	return climbed, err
}

// climb waits until the log can be read again; false: ctx is over.
func (e *Election) climb(ctx context.Context) bool {
	wait := min(e.config.Climb<<min(e.climbs, 10), max(10*time.Minute, e.config.Climb))
	for pause(ctx, wait) == nil {
		if e.reader.at.Load() == nil {
			continue
		}
		made, err := e.wal.anew(ctx)
		if err == nil {
			made.Close() // the rows are read on
			return true
		}
		if ctx.Err() == nil {
			e.config.Log.Debug().Err(err).Msg("the write-ahead log can't be read yet")
		}
	}
	return false
}

const (
	drainTime = time.Second
	// leaveTime is how long a writer that is told to stop may take over what it is at, and over its last lines.
	leaveTime = 4 * time.Second
)

// endSoon ends a leadership that goes on for longer than leaveTime.
func (t *leadership) endSoon() {
	if pause(t.ctx, leaveTime) == nil {
		t.end()
	}
}

// leave prints what still comes, and leaves to the next writer how far everything was printed.
func (e *Election) leave(ctx context.Context) error {
	drain, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	// What there was no time for is told by the next writer, from where this one has come to. What the output didn't take
	// was not told: nothing is left then.
	if err := e.reader.drain(drain); err != nil {
		return err
	}
	left := e.reader.left()
	if left == nil {
		return nil
	}
	last, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := e.config.Store.LeaveStream(last, left); err != nil {
		e.config.Log.Warn().Err(err).Msg("stream is left with a gap")
	}
	e.record(last, left.Point)
	return nil
}

// prepare has a reader. Behind a gap, or another writer, it is a new one, which begins with what the rows know of it. Where
// ctx ends before that is known there is none.
func (e *Election) prepare(ctx context.Context, gap string, left *store.StreamHandover) error {
	if gap == "" && left == nil && e.reader != nil {
		return nil
	}
	e.forget()
	config := Config{
		Store: e.config.Store, Hub: e.config.Hub, Connected: e.config.Connected,
		Printer: e.config.Printer, Log: e.config.Log, Own: e.config.Own, Gap: gap, Random: e.config.Random,
	}
	switch {
	case left != nil:
		config.From, config.memory, config.left = &left.Point, remembering(left), true
	case gap != "":
		var last *store.StreamPosition
		if repeat(ctx, queryTimeout, e.config.Random, func(ctx context.Context) (err error) {
			last, err = e.config.Store.LastStreamPosition(ctx)
			return err
		}, e.complain) != nil {
			return nil //nolint:nilerr // only the end of ctx is one
		}
		switch {
		case last != nil:
			config.From = &last.Point
		case e.wal != nil:
			config.From = e.wal.since
		}
		if gap == gapLogGone {
			config.memory = e.wal.printed
		}
	}
	var err error
	e.reader, err = New(config)
	return err
}

// keepRecorded writes down how far the rows were read, for whoever comes after: where they begin, and then while lines
// are printed.
func (e *Election) keepRecorded(ctx context.Context) {
	var recorded uint64
	var thinned time.Time
	for first := true; ; {
		wait := recordEvery
		if first {
			wait = notYet // whoever comes after begins here, also if this one dies at once
		}
		if pause(ctx, wait) != nil {
			return
		}
		at := e.reader.at.Load()
		if at == nil || !first && at.lines <= recorded {
			continue
		}
		if e.record(ctx, at.StreamPoint) {
			recorded, first = at.lines, false
		}
		if time.Since(thinned) >= thinEvery && e.config.Store.ThinStreamPositions(ctx) == nil {
			thinned = time.Now()
		}
	}
}

func (e *Election) record(ctx context.Context, at store.StreamPoint) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return e.config.Store.RecordStreamPosition(ctx, store.StreamPosition{Point: at}) == nil
}
