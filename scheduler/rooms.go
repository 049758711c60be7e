package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rowrun/rowrun/store"
)

// TypeLimit is what a replica allows runs of one type.
type TypeLimit struct {
	// Concurrency is how many of them execute at once; 0: as MaxPerType says.
	Concurrency int
	// Timeout is for those whose task has none; nil: TaskTimeout, 0: none.
	Timeout *time.Duration
}

// rooms counts what executes of the types that have less room than the replica has slots. One goroutine claims while there are
// such, dispatch, so that what it finds free stays so until it has claimed.
type rooms struct {
	limits map[string]TypeLimit
	most   int // of a type that limits doesn't name; 0: no bound
	common time.Duration

	mu   sync.Mutex
	busy map[string]int
}

// some says whether any type has a limit.
func (r *rooms) some() bool { return r.most > 0 || len(r.limits) > 0 }

// bound is how many runs of a type execute at once, 0: as many as there are slots; limited: it is claimed by its room.
func (r *rooms) bound(name string) (most int, limited bool) {
	limit, named := r.limits[name]
	if limit.Concurrency > 0 {
		return limit.Concurrency, true
	}
	return r.most, named || r.most > 0
}

// of is what may be claimed now of these types, in a claim of at most so many; nil: there are no limits.
func (r *rooms) of(types []string, want int) map[string]store.Room {
	if !r.some() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	free := make(map[string]store.Room, len(types))
	for _, name := range types {
		most, limited := r.bound(name)
		if !limited {
			continue
		}
		room := store.Room{Most: want, Timeout: r.common}
		if most > 0 {
			room.Most = min(want, most-r.busy[name])
		}
		if timeout := r.limits[name].Timeout; timeout != nil {
			room.Timeout = *timeout
		}
		free[name] = room
	}
	return free
}

// started counts a run of a type.
func (r *rooms) started(name string) { r.add(name, 1) }

// ended counts it no more. refills: another one of its type may have waited for that, while slots were free; also where there is
// room by now for more, as a search that is under way was told of less.
func (r *rooms) ended(name string) (refills bool) {
	r.add(name, -1)
	most, _ := r.bound(name)
	return most > 0
}

func (r *rooms) add(name string, n int) {
	if !r.some() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[name] += n
}

// full says whether a type has no room.
func (r *rooms) full() bool {
	if !r.some() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, busy := range r.busy {
		if most, _ := r.bound(name); most > 0 && busy >= most {
			return true
		}
	}
	return false
}

// announced is what the replica's row says of it: how many runs at most by type, "*" for those that aren't named.
func (r *rooms) announced() map[string]int {
	all := map[string]int{}
	for name := range r.limits {
		if most, _ := r.bound(name); most > 0 {
			all[name] = most
		}
	}
	if r.most > 0 {
		all["*"] = r.most
	}
	return all
}

// checkLimits refuses what can't be meant.
func (c *Config) checkLimits() error {
	if c.MaxPerType < 0 {
		return fmt.Errorf("max per type: %d is not accepted; accepted: 1 or more, or 0 for no bound", c.MaxPerType)
	}
	for _, name := range slices.Sorted(maps.Keys(c.TypeLimits)) {
		if err := CheckWord(name); err != nil {
			return fmt.Errorf("type limits: %w", err)
		}
		limit := c.TypeLimits[name]
		if limit.Concurrency < 0 {
			return fmt.Errorf("type limits: %s: a concurrency of %d is not accepted; accepted: 1 or more", name, limit.Concurrency)
		}
		if limit.Timeout != nil && *limit.Timeout < 0 {
			return fmt.Errorf("type limits: %s: a timeout of %s is not accepted; accepted: a duration, or 0 for none", name, *limit.Timeout)
		}
	}
	return nil
}

// roomCame has dispatch claim again: the searches have left out runs of a type that there was no room for.
func (t *incarnation) roomCame() {
	t.s.invalidations.Add(1)
	if now := t.s.current.Load(); now != nil && now != t {
		now.available.came() // it has come since the run was claimed
	}
	t.available.came()
}
