package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// turnFor is for how long slots that became free are kept for a scheduler that was told of them. It needs them to come back to its
// loop; one whose database is away doesn't come.
const turnFor = 100 * time.Millisecond

// Pool is one number of slots for several schedulers of a process, which claim from different databases.
//
// All of them together never execute more runs than it has slots. Each may have them all while the others need none. One that finds
// no slot waits: it has the next ones that become free before those that hold more than it, up to its share, which is the slots
// divided by the schedulers. No trip takes more than its scheduler's share or half of what is free, so that one whose answer doesn't
// come leaves something to the others; after that it asks for one slot at a time until it is answered.
//
// Reserve holds for all of them together, too.
type Pool struct {
	size     int
	reserves []Reserve
	shares   *shares
	stuck    atomic.Int64 // executors that ignore their cancel, of all
	now      func() time.Time

	mu    sync.Mutex
	taken int // slots that execute, or that trips under way may fill
	seats []*seat
}

// NewPool checks how many slots there are, and which of them are only for runs of some priority and above.
func NewPool(slots int, reserves []Reserve) (*Pool, error) {
	if slots < 1 {
		return nil, errors.New("a pool needs at least one slot")
	}
	if err := checkReserves(reserves, slots); err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	return &Pool{size: slots, reserves: slices.Clone(reserves), shares: newShares(reserves), now: time.Now}, nil
}

// Slots is how many runs execute at once, at most.
func (p *Pool) Slots() int { return p.size }

// Taken is how many slots execute a run, or may be filled by a claim that is under way.
func (p *Pool) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// seat is a scheduler's place at a pool.
type seat struct {
	pool  *Pool
	freed chan<- struct{} // told when a slot became free that it waits for

	// Guarded by Pool.mu.
	taken int
	waits bool      // it found no slot
	turn  time.Time // until then slots are kept for it
}

// seat makes a place; it counts from sit on.
func (p *Pool) seat(freed chan<- struct{}) *seat {
	if p == nil {
		return nil
	}
	return &seat{pool: p, freed: freed}
}

// sit has a scheduler count among those that share the slots; leave ends that. What it still executes stays counted.
func (s *seat) sit() (leave func()) {
	if s == nil {
		return func() {}
	}
	p := s.pool
	p.mu.Lock()
	p.seats = append(p.seats, s)
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seats = slices.DeleteFunc(p.seats, func(other *seat) bool { return other == s })
	}
}

// take gives a trip slots, at most so many. wants: runs may be there that wait for them.
func (s *seat) take(most int, wants bool) int {
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(most, s.room())
	switch {
	case n > 0:
		s.turn = time.Time{}
		s.taken += n
		p.taken += n
	case wants:
		s.waits = true
		if p.taken < p.size { // what is kept for others is free for this one when their turn is over
			time.AfterFunc(turnFor, func() { signal(s.freed) })
		}
	}
	return max(0, n)
}

// wait asks to be told of the next slot: one was found, but none that runs of each priority may take.
func (s *seat) wait() {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.waits = true
}

// started counts a run that executes from now on. Its trip's slots are given back after that, so that more are counted meanwhile and
// never fewer.
func (s *seat) started() {
	if s == nil {
		return
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	s.taken++
	s.pool.taken++
}

// give gives slots back, and tells those of the others that wait.
func (s *seat) give(n int) {
	if s == nil || n == 0 {
		return
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	s.taken -= n
	p.taken -= n
	if p.taken >= p.size {
		return
	}
	for _, other := range p.seats {
		if other.waits && other != s {
			other.waits, other.turn = false, p.now().Add(turnFor)
			signal(other.freed)
		}
	}
}

// hung counts executors that ignore their cancel, and says how many there are of all schedulers; own is how many there are of this.
func (s *seat) hung(n, own int64) (all int64) {
	if s == nil {
		return own
	}
	return s.pool.stuck.Add(n)
}

// free is what take would give a trip that asks for all.
func (s *seat) free() int {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return max(0, s.room())
}

// room is how many slots a trip of this scheduler may have now. Pool.mu is held.
func (s *seat) room() int {
	p := s.pool
	share := max(1, p.size/max(1, len(p.seats)))
	free := p.size - p.taken
	now := p.now()
	for _, other := range p.seats {
		if other != s && other.taken < s.taken && (other.waits || now.Before(other.turn)) {
			free -= max(1, share-other.taken)
		}
	}
	if len(p.seats) <= 1 {
		return free
	}
	return min(free, max(share-s.taken, (free+1)/2))
}
