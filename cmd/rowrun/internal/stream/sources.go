package stream

import (
	"context"
	"sync"

	"github.com/rowrun/rowrun/store"
)

// fromLog writes what the log tells. errUnfit: it can't be read, or no longer.
func (e *Election) fromLog(ctx context.Context, t *tenure, before string) error {
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

// fromRows writes what notifications and rows tell; without a gap it goes on where it was.
func (e *Election) fromRows(ctx context.Context, t *tenure, gap string) error {
	if err := e.prepare(t, gap); err != nil {
		return err
	}
	run, stop := context.WithCancel(t.ctx)
	defer stop()
	unhook := context.AfterFunc(ctx, stop)
	defer unhook()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { e.keepRecorded(run) })
	if e.silence != nil {
		e.silence.look(run) // whoever wrote before may have silenced INSERTs
	}
	err := e.reader.Run(run)
	if err == nil && t.ctx.Err() == nil {
		err = e.drain(t.ctx)
	}
	return err
}

// drain prints what still comes, and writes down up to where everything was printed.
func (e *Election) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	moment, asked := e.config.Store.StreamMoment(ctx)
	if err := e.reader.Drain(ctx); err != nil || asked != nil {
		return err
	}
	e.record(ctx, moment.Point)
	return nil
}

// prepare has a reader. Behind a gap it is a new one, which begins with what the rows know of it.
func (e *Election) prepare(t *tenure, gap string) error {
	if gap == "" && e.reader != nil {
		return nil
	}
	e.forget()
	config := Config{
		Store: e.config.Store, Hub: e.config.Hub, Connected: e.config.Connected,
		Printer: e.config.Printer, Log: e.config.Log, Gap: gap,
	}
	if gap != "" {
		limited, cancel := context.WithTimeout(t.ctx, queryTimeout)
		defer cancel()
		if last, err := e.config.Store.LastStreamPosition(limited); err == nil && last != nil {
			config.From = &last.Point
		}
	}
	var err error
	e.reader, err = New(config)
	return err
}

// keepRecorded writes down how far the rows were read, for whoever comes after.
func (e *Election) keepRecorded(ctx context.Context) {
	recorded := uint64(0)
	for pause(ctx, recordEvery) == nil {
		if at := e.reader.at.Load(); at != nil && at.lines > recorded && e.record(ctx, at.StreamPoint) {
			recorded = at.lines
		}
	}
}

func (e *Election) record(ctx context.Context, at store.StreamPoint) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return e.config.Store.RecordStreamPosition(ctx, store.StreamPosition{Point: at}) == nil
}
