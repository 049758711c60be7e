package server

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// hallTick is when those who wait look again without being told.
	hallTick = 5 * time.Second
	// hallPause merges wake-ups: each has somebody ask for every list of types that is waited for.
	hallPause = 10 * time.Millisecond
)

// hall is where claims of workers wait for runs. Whatever may bring some ends a turn, and each asks in the next one; those who
// have waited for the same types ask one behind the other, and only until one of them finds nothing.
type hall struct {
	mu      sync.Mutex
	inside  int
	current *turn
}

type turn struct {
	over  chan struct{} // closed when it is
	door  chan struct{} // one claim at a time
	empty map[string]bool
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
	h.current = &turn{over: make(chan struct{}), door: make(chan struct{}, 1), empty: map[string]bool{}}
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
func (t *turn) take(ctx, draining context.Context, types string, claim func() (answer json.RawMessage, rests bool, err error)) (json.RawMessage, error) {
	select {
	case t.door <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-draining.Done():
		return nil, errDraining
	}
	defer func() { <-t.door }()
	if t.empty[types] {
		return json.RawMessage("[]"), nil
	}
	answer, rests, err := claim()
	if err == nil && !rests && string(answer) == "[]" {
		t.empty[types] = true
	}
	return answer, err
}
