package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

// heartbeat renews the lease until ctx ends. It returns store.ErrDead where another replica declared this one dead,
// store.ErrElsewhere where a copy has taken the database's place,
// errFenced where it could not write for two thirds of its lease: by then it must have stopped what it runs, because
// others may soon begin to run it.
func (t *incarnation) heartbeat(ctx context.Context) error {
	c := t.s.cfg
	errs := t.s.newOnce("heartbeat")
	trust := c.StaleAfter * 2 / 3
	turns := rounds{pace: t.s.pace}
	wait := turns.wait(c.HeartbeatInterval)
	for {
		left := trust - time.Since(t.lastBeat())
		sleep(ctx, min(wait, left))
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a clean stop
		}
		left = trust - time.Since(t.lastBeat())
		if left <= 0 {
			return errFenced
		}
		sent := time.Since(t.began)
		beat, cancel := context.WithTimeout(ctx, min(left, c.HeartbeatInterval))
		err := c.Store.Heartbeat(beat, t.id, int(t.s.executing.Load()))
		cancel()
		switch {
		case err == nil, errors.Is(err, store.ErrDrain):
			t.drainIfAsked(err)
			errs.ok()
			t.silences.answered(sent, time.Since(t.began))
			t.beat.Store(int64(sent))
			t.contact.CompareAndSwap(-1, int64(sent))
			wait = turns.wait(c.HeartbeatInterval)
		case ctx.Err() != nil:
			return nil //nolint:nilerr // a clean stop
		case errors.Is(err, store.ErrDead), errors.Is(err, store.ErrElsewhere):
			return err
		default:
			errs.failed(err)
			t.s.missed.Add(1)
			t.contact.Store(-1)
			turns.lost()
			wait = t.s.pace.again(min(c.HeartbeatInterval/4, time.Second))
		}
	}
}

// drainIfAsked has this replica drain and Run return, as a stop would, where its heartbeat brought that back.
func (t *incarnation) drainIfAsked(err error) {
	if err == nil || t.s.draining.Load() {
		return
	}
	t.s.cfg.Log.Info().Str("replica_id", t.id).Msg("an operator asked this replica to drain: it ends what it runs and stops")
	t.s.giveUp(err)
}
