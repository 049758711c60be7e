package stream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	quietLook = 50 * time.Millisecond
	// relayPause merges what this replica passes on.
	relayPause = 3 * time.Millisecond
	// relayRetry is the pause after a try that reached nobody.
	relayRetry = 100 * time.Millisecond
)

// silence has INSERTs say nothing while this replica sees them in the log, and
// says it for them. The lock that silences them belongs to the listener's
// session: where that ends, so does the silence.
type silence struct {
	store Store
	hub   *events.Hub
	do    func(ctx context.Context, fn func(ctx context.Context, conn *pgx.Conn) error) error
	log   zerolog.Logger

	on       atomic.Bool   // from before the lock is taken until after it is given back
	held     atomic.Bool   // the lock is this session's
	inserted chan struct{} // one slot: new runs were seen
}

// seen is called for each transaction with new runs.
func (q *silence) seen() {
	if !q.on.Load() {
		return
	}
	q.hub.Wake()
	q.passOn()
}

// passOn has relay wake every replica.
func (q *silence) passOn() {
	select {
	case q.inserted <- struct{}{}:
	default:
	}
}

// relay passes on what seen was told, until ctx ends.
func (q *silence) relay(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.inserted:
		}
		for !q.look(ctx) && pause(ctx, relayRetry) == nil {
		}
		_ = pause(ctx, relayPause)
	}
}

// look wakes every replica; false: not for sure.
func (q *silence) look(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second/2)
	defer cancel()
	err := q.store.Look(ctx)
	if err != nil {
		q.log.Debug().Err(err).Msg("replicas were not woken")
	}
	return err == nil
}

// keep silences INSERTs while the log says that they are seen, until ctx ends. It looks when that may have changed, and
// every quietLook while it may change without a word or a turn has failed. A turn that has begun ends with the leadership:
// cut off by ctx it would cost the connection, and the lock would go when the server has noticed.
func (q *silence) keep(ctx, leadership context.Context, log *WAL) {
	again := time.NewTimer(quietLook)
	defer again.Stop()
	for ctx.Err() == nil {
		want := log.reading()
		if want != q.held.Load() {
			q.turn(leadership, want)
		}
		again.Stop()
		if log.unsure() || want != q.held.Load() {
			again.Reset(quietLook)
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-log.turned:
		}
	}
}

// turn takes the lock or gives it back. After the silence everybody looks: what
// was inserted in it may not have been passed on.
func (q *silence) turn(ctx context.Context, on bool) {
	if on {
		q.on.Store(true)
		_ = q.do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			held, err := store.SilenceInserts(ctx, conn)
			q.held.Store(held)
			return err
		})
		if q.held.Load() {
			q.passOn() // whoever silenced them before may not have passed on all
			q.log.Info().Str("wake_source", "wal").Msg("inserts are seen in the write-ahead log")
		}
		return
	}
	err := q.do(ctx, store.UnsilenceInserts)
	if err != nil {
		return // the session is going, and the lock with it; or it is tried again
	}
	q.ended(ctx)
	q.log.Info().Str("wake_source", "notify").Msg("inserts notify again")
}

// ended is called when the lock is gone.
func (q *silence) ended(ctx context.Context) {
	if q.held.Swap(false) {
		q.look(ctx)
	}
	q.on.Store(false)
}
