package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// hallTick is when those who wait look again without being told.
	hallTick = 5 * time.Second
	// hallPause merges wake-ups: each has somebody ask for every list of types that is waited for.
	hallPause = 10 * time.Millisecond
)

// hall is where claims of workers wait for runs. Whatever may bring some ends a turn, and each asks in the next one; those who
// have waited for the same types ask one behind the other, and only until one of them finds nothing, or no database.
type hall struct {
	mu      sync.Mutex
	inside  int
	current *turn
}

type turn struct {
	over  chan struct{} // closed when it is
	door  chan struct{} // one claim at a time
	empty map[string]bool
	away  chan struct{} // closed when the database gave no answer to one of them
	err   error         // why; set before
}

func newTurn() *turn {
	return &turn{over: make(chan struct{}), door: make(chan struct{}, 1), empty: map[string]bool{}, away: make(chan struct{})}
}

func newHall() *hall {
	h := &hall{}
	h.next()
	return h
}

// run ends a turn at each wake-up, and now and then, until ctx ends.
func (h *hall) run(ctx context.Context, wake <-chan struct{}) {
	tick := time.NewTicker(hallTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-tick.C:
		}
		h.next()
		select {
		case <-ctx.Done():
		case <-time.After(hallPause):
		}
	}
}

func (h *hall) next() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		close(h.current.over)
	}
	h.current = newTurn()
}

func (h *hall) turn() *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

func (h *hall) enter() (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside >= maxWorkersWaiting {
		return nil, errFull
	}
	h.inside++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.inside--
	}, nil
}

// take claims, unless somebody has found nothing of these types in this turn. One that rests finds nothing whatever there is.
// Who stands at the door goes when its time is over (waits ends), and when the database gave no answer to who was inside: asked
// one behind the other each would wait for the same silence, and the last ones for longer than their connections live.
func (t *turn) take(ctx, waits, draining context.Context, types string, claim func() (answer json.RawMessage, rests bool, err error)) (json.RawMessage, error) {
	select {
	case t.door <- struct{}{}:
	case <-t.away:
		return nil, t.err
	case <-waits.Done():
		return json.RawMessage("[]"), ctx.Err()
	case <-draining.Done():
		return nil, errDraining
	}
	defer func() { <-t.door }()
	select {
	case <-t.away: // the door was free at that moment, too
		return nil, t.err
	default:
	}
	if t.empty[types] {
		return json.RawMessage("[]"), nil
	}
	answer, rests, err := claim()
	switch {
	case err != nil && ctx.Err() == nil && unanswered(err):
		t.err = err
		close(t.away)
	case err == nil && !rests && string(answer) == "[]":
		t.empty[types] = true
	}
	return answer, err
}

// unanswered says of an error that who asks next would most likely wait as long for nothing. What a server refuses is said at
// once, and of one request only, but for a statement that it ended because it took too long.
func unanswered(err error) bool {
	var refused *pgconn.PgError
	return !errors.As(err, &refused) || refused.Code == "57014"
}
