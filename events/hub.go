package events

import (
	"slices"
	"sync"
)

// Hub hands signals to subscribers in this process. Its publishing side (Wake,
// Publish, Gap) never blocks. All methods may be called from many goroutines.
type Hub struct {
	mu      sync.Mutex
	wakes   []subscription // in the order in which they came
	batches map[*Batches]struct{}
}

type subscription struct {
	ch     chan struct{}
	want   func(Transition) bool // nil: all
	others bool                  // not those of this process
}

// NewHub returns a hub without subscribers.
func NewHub() *Hub {
	return &Hub{batches: make(map[*Batches]struct{})}
}

// Subscribe returns a channel that receives one value after any number of
// wakes. It holds one from the start: what happened before the subscription is
// to be looked at too. The returned function ends the subscription; it may be
// called more than once, and does not close the channel.
//
// want says which transitions are worth a wake; nil: all. It is called while
// others wait, and must not call the hub. A notification without transitions,
// and a gap, wake everybody, in the order of the subscriptions.
func (h *Hub) Subscribe(want func(Transition) bool) (<-chan struct{}, func()) {
	return h.subscribe(subscription{want: want})
}

// SubscribeOthers is Subscribe, but for what this process itself has announced: see ListenConfig.Own.
func (h *Hub) SubscribeOthers(want func(Transition) bool) (<-chan struct{}, func()) {
	return h.subscribe(subscription{want: want, others: true})
}

func (h *Hub) subscribe(s subscription) (<-chan struct{}, func()) {
	s.ch = make(chan struct{}, 1)
	s.ch <- struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakes = append(h.wakes, s)
	return s.ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.wakes = slices.DeleteFunc(h.wakes, func(one subscription) bool { return one.ch == s.ch })
	}
}

// Wake tells every subscriber to look at everything.
func (h *Hub) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeAll()
	for b := range h.batches {
		b.look()
	}
}

// Publish hands on what one notification said. No transitions mean the same as Wake.
func (h *Hub) Publish(transitions []Transition) { h.publish(transitions, false) }

// publish with own: a session of this process announced them.
func (h *Hub) publish(transitions []Transition, own bool) {
	if len(transitions) == 0 {
		h.Wake()
		return
	}
	news := newest(transitions)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.wakes {
		if own && s.others {
			continue
		}
		if s.want == nil || slices.ContainsFunc(news, s.want) {
			signal(s.ch)
		}
	}
	for b := range h.batches {
		b.push(transitions)
	}
}

// newest are the transitions without those that the next one of the same run follows: a claim also tells that its runs were
// AVAILABLE from their INSERTs on, which is no work for anybody any more.
func newest(transitions []Transition) []Transition {
	followed := func(i int) bool { return i+1 < len(transitions) && transitions[i].RunID == transitions[i+1].RunID }
	for i := range transitions {
		if !followed(i) {
			continue
		}
		last := slices.Clone(transitions[:i])
		for j := i; j < len(transitions); j++ {
			if !followed(j) {
				last = append(last, transitions[j])
			}
		}
		return last
	}
	return transitions
}

// gap wakes everybody and tells those who read batches that transitions may be
// missing in this place. The reason is one of few short texts: it is shown to users.
func (h *Hub) gap(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeAll()
	for b := range h.batches {
		b.gap(reason)
	}
}

// skip wakes everybody and tells those who read batches that something was not read.
func (h *Hub) skip() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeAll()
	for b := range h.batches {
		b.skip()
	}
}

// wakeAll is called with h.mu held.
func (h *Hub) wakeAll() {
	for _, s := range h.wakes {
		signal(s.ch)
	}
}

// signal fills a one-slot channel unless it is full already.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
