package stream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// outputPatience is how long a write may be blocked before the output counts as broken.
	outputPatience = 10 * time.Second
	// busyFor is how long a write of somebody else's may be under way before the output counts as not ready.
	busyFor = 100 * time.Millisecond
	// piece is what can be written to a pipe that has room for something without being held up (PIPE_BUF).
	piece = 4096
	// lookForRoom is how often a write that waits for room asks whether it is still wanted.
	lookForRoom = 50 // ms
)

// errBlocked means that whoever should read an output doesn't.
var errBlocked = errors.New("blocked: nobody reads it")

// Output writes whole lines to a file, without being held up for long by whoever reads it. Where several write, each of their
// writes comes as a whole, and waits for the one before it.
type Output struct {
	to       io.Writer
	patience time.Duration

	mu       sync.Mutex
	pending  chan struct{} // closed when the last write is over; nil: none was
	torn     bool          // what was written last is a part of a line
	since    atomic.Int64  // when the write that is blocked began, 0: none is
	deadline atomic.Int64  // nothing is waited for beyond it, 0: there is none
}

// NewOutput writes to a file or anything else; patience 0: 10 s.
func NewOutput(to io.Writer, patience time.Duration) *Output {
	if patience == 0 {
		patience = outputPatience
	}
	return &Output{to: to, patience: patience}
}

// Blocked is for how long a write has been waiting for its reader; 0: none is.
func (o *Output) Blocked() time.Duration {
	since := o.since.Load()
	if since == 0 {
		return 0
	}
	return max(time.Since(time.Unix(0, since)), 1)
}

// Ready says that a write would be taken now, as far as that can be told.
func (o *Output) Ready() bool {
	if !o.mu.TryLock() { // somebody else writes
		return o.Blocked() < busyFor
	}
	defer o.mu.Unlock()
	if o.pending != nil {
		select {
		case <-o.pending:
		default:
			return false
		}
	}
	file, _ := o.to.(*os.File)
	return file == nil || !mayBlock(file) || writable(file)
}

// Bound has writes wait for no longer than until t, also those under way.
func (o *Output) Bound(t time.Time) { o.deadline.Store(t.UnixNano()) }

// write is one write under way.
type write struct {
	gaveUp atomic.Bool
	done   chan struct{}
	n      int
	err    error
}

// Write writes lines, behind the end of one that was torn. errBlocked: they could not be written in time; what was not
// written then never will be, but for a part that the file has taken already.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending != nil {
		select {
		case <-o.pending:
		default:
			return 0, errBlocked
		}
	}
	began := time.Now()
	text := make([]byte, 0, len(p)+1)
	if o.torn {
		text = append(text, '\n')
	}
	text = append(text, p...)
	extra := len(text) - len(p)
	w := &write{done: make(chan struct{})}
	o.since.Store(began.UnixNano())
	o.pending = w.done
	go func() { // it ends when it is given up, or, where the file takes a part and hangs, with the file
		defer close(w.done)
		w.n, w.err = o.pieces(w, text)
		if w.n > 0 {
			o.torn = text[w.n-1] != '\n'
		}
		o.since.Store(0)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			if w.err != nil {
				return max(0, w.n-extra), w.err
			}
			return len(p), nil
		case <-tick.C:
		}
		deadline := o.deadline.Load()
		if time.Since(began) < o.patience && (deadline == 0 || time.Now().UnixNano() < deadline) {
			continue
		}
		w.gaveUp.Store(true)
		select { // mostly it is waiting for room, and nothing more is written
		case <-w.done:
			return max(0, w.n-extra), fmt.Errorf("for %s %w", time.Since(began).Round(100*time.Millisecond), errBlocked)
		case <-time.After(3 * lookForRoom * time.Millisecond):
			return 0, fmt.Errorf("for %s %w", time.Since(began).Round(100*time.Millisecond), errBlocked)
		}
	}
}

// pieces writes as much as has room at a time, until it is given up.
func (o *Output) pieces(w *write, text []byte) (n int, err error) {
	file, _ := o.to.(*os.File)
	whole := file == nil || !mayBlock(file)
	for n < len(text) {
		part := text[n:]
		if !whole {
			for !room(file) {
				if w.gaveUp.Load() {
					return n, errBlocked
				}
			}
			part = part[:min(len(part), piece)]
		}
		m, err := o.to.Write(part)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// mayBlock says whether writing to a file depends on somebody who reads.
func mayBlock(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && !info.Mode().IsRegular()
}
