package store

import (
	"context"
	"errors"
	"sync"
)

const (
	// fullBatch is how many runs or marks a statement of a replica takes on at most.
	fullBatch = 1000
	// growAfter is after how many batches in a row that went well a larger one is tried: one that fails has cost a third
	// of the lease.
	growAfter = 8
)

// Batch is how many rows a statement that is repeated until it succeeds takes on. One that ran out of time, or that was
// more than the server can hold at once, would do so again: the next takes half as many, down to one, and more again when
// that goes well. Safe for use by many goroutines; its zero value begins with full batches.
type Batch struct {
	mu       sync.Mutex
	halved   int  // how many times
	success  int  // in a row, at this size
	hopeless bool // one row took too long, or too much, or what goes along waited in vain
}

// Most is how many of at most "full" rows the next statement takes on, at least one.
func (b *Batch) Most(full int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(1, full>>b.halved)
}

// Done notes how a statement for "size" rows ended, and says whether a smaller one is worth a try.
func (b *Batch) Done(size int, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case TookTooLong(err) || tookTooMuch(err):
		b.success = 0
		if size > 1 {
			b.halved++
			return true
		}
		b.hopeless = true
	case err == nil && b.halved > 0:
		if b.success++; b.success >= growAfter {
			b.success = 0
			b.halved--
		}
	}
	return false
}

// DoWithout has the next pass be done without what the statement waited for in vain, as if one row took too long.
func (b *Batch) DoWithout() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hopeless = true
}

// Hopeless says, once after each time, that even one row took too long or too much, or that DoWithout was called: whatever goes along
// with it is done without.
func (b *Batch) Hopeless() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.hopeless = false }()
	return b.hopeless
}

// TookTooLong says that a statement was ended because it ran out of time, by the server or by the caller's deadline.
func TookTooLong(err error) bool {
	return SQLState(err) == "57014" || errors.Is(err, context.DeadlineExceeded)
}

// tookTooMuch says that a statement was ended because it was more than the server can hold at once: a limit of PostgreSQL (an array of
// 1 GB), memory, or the limit on temporary files. A row that does so by itself is found by halving.
func tookTooMuch(err error) bool {
	switch SQLState(err) {
	case "54000", "53200", "53400":
		return true
	}
	return false
}
