package events

import (
	"context"
	"errors"
	"slices"
)

// GapOverflow is the reason of a gap that a subscriber made itself by not
// reading fast enough.
const GapOverflow = "reader too slow"

// errClosed is returned by Batches.Next after Close.
var errClosed = errors.New("subscription closed")

// Batch is what happened since the last one.
type Batch struct {
	// Gap says why transitions may be missing before those of this batch; "" where none are.
	Gap string
	// Look says that something changed which no transition tells. True with every gap.
	Look bool
	// Skipped says that there were more notifications than are read: what they told is to be looked for in the rows.
	Skipped bool
	// Reached, as somebody told it, is in commit order. The slice belongs to the receiver.
	Reached []Reached
}

// Reached is a run and the status that a transition has brought it to. A reader that is behind holds many.
type Reached struct {
	RunID int64
	To    string
}

// Batches is a subscription to transitions. Next is for one goroutine.
type Batches struct {
	hub    *Hub
	limit  int
	signal chan struct{}

	// Guarded by hub.mu. A new element of pending begins only with a gap after
	// transitions, so there are never more than limit+1 of them.
	pending []Batch
	held    int // transitions in pending
	closed  bool
}

// SubscribeBatches subscribes to transitions and holds up to limit of them
// (below 1: one) for a reader that is behind. More are dropped, and a gap takes
// their place. The first batch says Look. Close must be called in the end.
func (h *Hub) SubscribeBatches(limit int) *Batches {
	b := &Batches{hub: h, limit: max(limit, 1), signal: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.batches[b] = struct{}{}
	b.look()
	return b
}

// Next waits until something happened and returns all of it, merged into one
// batch; only a gap after transitions begins another batch. Its errors are
// those of ctx, and errClosed.
func (b *Batches) Next(ctx context.Context) (Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Batch{}, err
		}
		batch, ok, err := b.take()
		if ok || err != nil {
			return batch, err
		}
		select {
		case <-ctx.Done():
		case <-b.signal:
		}
	}
}

func (b *Batches) take() (batch Batch, ok bool, err error) {
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	if b.closed {
		return Batch{}, false, errClosed
	}
	if len(b.pending) == 0 {
		return Batch{}, false, nil
	}
	batch = b.pending[0]
	b.pending[0] = Batch{} // or the backing array keeps the transitions alive
	b.pending = b.pending[1:]
	b.held -= len(batch.Reached)
	return batch, true, nil
}

// Lost says that a gap is among what is pending.
func (b *Batches) Lost() bool {
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	return slices.ContainsFunc(b.pending, func(batch Batch) bool { return batch.Gap != "" })
}

// Close ends the subscription, and a waiting Next with it. What is pending is
// dropped. It may be called more than once.
func (b *Batches) Close() {
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	delete(b.hub.batches, b)
	b.closed, b.pending = true, nil
	signal(b.signal)
}

// last returns the newest pending batch. Like the following ones it is called
// with hub.mu held.
func (b *Batches) last() *Batch {
	if len(b.pending) == 0 {
		b.pending = append(b.pending, Batch{})
	}
	return &b.pending[len(b.pending)-1]
}

func (b *Batches) look() {
	b.last().Look = true
	signal(b.signal)
}

func (b *Batches) skip() {
	b.last().Skipped = true
	b.look()
}

func (b *Batches) push(transitions []Transition) {
	if b.held+len(transitions) > b.limit {
		b.gap(GapOverflow)
		return
	}
	last := b.last()
	for i := range transitions {
		last.Reached = append(last.Reached, Reached{transitions[i].RunID, transitions[i].To})
	}
	b.held += len(transitions)
	signal(b.signal)
}

func (b *Batches) gap(reason string) {
	if len(b.last().Reached) > 0 {
		b.pending = append(b.pending, Batch{})
	}
	last := b.last()
	last.Look = true
	if last.Gap == "" { // the first reason stands for all that follow without a transition between
		last.Gap = reason
	}
	signal(b.signal)
}
