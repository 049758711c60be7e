package history

import (
	"context"
	"sync"
)

// Reader reads a history from one place on. It is for one goroutine; Close it.
type Reader struct {
	history *History
	next    uint64
	closed  sync.Once
}

// Follow makes a reader of what comes from now on, or, where after is a position, of what follows it. found: the
// history still has that place; otherwise lines may be missing before the first that is read.
func (h *History) Follow(after string) (r *Reader, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r = &Reader{history: h, next: h.next}
	h.readers++
	if after == "" {
		return r, true
	}
	n, found := h.find(after)
	if found {
		r.next = n
	} else {
		r.next = h.first // what is kept is not lost as well
	}
	return r, found
}

// Position is that of the last line that Next returned, or of the place where the reader began. It is the history's own,
// also where the source gives its lines positions: who resumes there gets what follows, and nothing again.
func (r *Reader) Position() string {
	r.history.mu.Lock()
	defer r.history.mu.Unlock()
	return r.history.position(r.next - 1)
}

// Next waits until there are lines and returns up to limit of them. Its errors are those of ctx, and errSlow.
func (r *Reader) Next(ctx context.Context, limit int) ([]Line, error) {
	for {
		lines, news, err := r.take(limit)
		if err != nil || len(lines) > 0 {
			return lines, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
	}
}

func (r *Reader) take(limit int) (lines []Line, news <-chan struct{}, err error) {
	h := r.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.next < h.first {
		h.stats.Slow++
		return nil, nil, errSlow
	}
	if r.next == h.next {
		if h.news == nil {
			h.news = make(chan struct{})
		}
		return nil, h.news, nil
	}
	for ; r.next < h.next && len(lines) < limit; r.next++ {
		e := &h.ring[r.next%uint64(len(h.ring))]
		position := e.given
		if position == "" {
			position = h.position(r.next)
		}
		lines = append(lines, Line{Position: position, Text: e.text})
	}
	return lines, nil, nil
}

// Close ends the reader; it may be called more than once.
func (r *Reader) Close() {
	r.closed.Do(func() {
		r.history.mu.Lock()
		defer r.history.mu.Unlock()
		r.history.readers--
	})
}
