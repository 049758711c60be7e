package scheduler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rowrun/rowrun/store"
)

// Reserve are slots of a replica that only runs of at least a priority take. Those of several priorities add up.
type Reserve struct{ Priority, Slots int }

// checkReserves refuses more slots than there are, and a priority that is named twice.
func checkReserves(reserves []Reserve, concurrency int) error {
	all := 0
	named := map[int]bool{}
	for _, r := range reserves {
		if r.Slots < 1 {
			return errors.New("reserved slots must be above zero")
		}
		if r.Priority < math.MinInt32 || r.Priority > math.MaxInt32 {
			return fmt.Errorf("slots are reserved for priority %d; accepted: %d to %d", r.Priority, math.MinInt32, math.MaxInt32)
		}
		if named[r.Priority] {
			return fmt.Errorf("slots are reserved twice for priority %d", r.Priority)
		}
		named[r.Priority] = true
		all += r.Slots
	}
	if all > concurrency {
		return fmt.Errorf("more slots are reserved (%d) than there are (%d)", all, concurrency)
	}
	return nil
}

// shares counts what is under way below the priorities that have slots of their own: with C slots, of which R are reserved for
// runs of at least P, no more than C - R runs below P are executed at once. nil: none has, and nothing is counted.
type shares struct {
	mu         sync.Mutex
	priorities []int // ascending
	above      []int // how many slots runs below each may not take
	below      []int // how many are executed, or may be claimed by trips that are under way
}

func newShares(reserves []Reserve) *shares {
	if len(reserves) == 0 {
		return nil
	}
	ordered := slices.Clone(reserves)
	slices.SortFunc(ordered, func(a, b Reserve) int { return a.Priority - b.Priority })
	s := &shares{below: make([]int, len(ordered)), above: make([]int, len(ordered))}
	above := 0
	for i, r := range slices.Backward(ordered) {
		above += r.Slots
		s.above[i] = above
	}
	for _, r := range ordered {
		s.priorities = append(s.priorities, r.Priority)
	}
	return s
}

// take gives a trip that has n of all slots its part of what is left below each priority; give takes it back when the runs that it has
// claimed have begun.
func (s *shares) take(n, slots int) []store.Below {
	if s == nil || n == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := make([]store.Below, len(s.priorities))
	for i := range slices.Backward(s.priorities) {
		n = max(0, min(n, slots-s.above[i]-s.below[i])) // what is below a priority is below the next one, too
		s.below[i] += n
		taken[i] = store.Below{Priority: s.priorities[i], Most: n}
	}
	return taken
}

func (s *shares) give(taken []store.Below) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range taken {
		s.below[i] -= b.Most
	}
}

// started counts a run that is executed from now on; with -1 one that isn't any more.
func (s *shares) started(priority, runs int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.priorities {
		if priority < p {
			s.below[i] += runs
		}
	}
}

// open is how many of n free slots, of so many, a run of any priority may take.
func (s *shares) open(n, slots int) int {
	if s == nil {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.priorities {
		n = min(n, slots-s.above[i]-s.below[i])
	}
	return max(0, n)
}

// published is what a replica's row says of its reserves: each priority with its slots behind it.
func published(reserves []Reserve) (list []int32) {
	for _, r := range reserves {
		list = append(list, int32(r.Priority), int32(r.Slots)) //nolint:gosec // checked
	}
	return list
}
