// Package targets keeps the databases of an executor by the names that tasks use in database_id.
package targets

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// Set is the targets of an executor: C is how one is configured, T what the executor makes of that. Runs may look up targets
// while others are prepared.
type Set[C comparable, T any] struct {
	build func(name string, c C) (T, error)
	log   zerolog.Logger
	now   atomic.Pointer[map[string]*entry[C, T]]
}

type entry[C comparable, T any] struct {
	target T
	made   C           // of which it was made
	kept   atomic.Bool // it can't be made any more, and that was logged
}

// NewSet returns a set without targets. An error of build names the target but never its URL.
func NewSet[C comparable, T any](log zerolog.Logger, build func(name string, c C) (T, error)) *Set[C, T] {
	s := &Set[C, T]{build: build, log: log}
	s.now.Store(&map[string]*entry[C, T]{})
	return s
}

// Prepare makes targets, which use gives to runs that begin after it. They are made anew each time, as files that their URLs name
// may have changed; one that was made before and can't be any more, say as its file is gone, stays as it is.
func (s *Set[C, T]) Prepare(configs map[string]C) (use func(), err error) {
	all, before := make(map[string]*entry[C, T], len(configs)), *s.now.Load()
	for name, c := range configs {
		target, err := s.build(name, c)
		old := before[name]
		switch {
		case err == nil:
			all[name] = &entry[C, T]{target: target, made: c}
		case old == nil || old.made != c:
			return nil, err
		default:
			if all[name] = old; !old.kept.Swap(true) {
				s.log.Warn().Str("database_id", name).Err(err).Msg("a target database can't be set up anew: it stays as it was")
			}
		}
	}
	return func() { s.now.Store(&all) }, nil
}

// Replace gives these targets to runs that begin after it. Where one is refused nothing changes.
func (s *Set[C, T]) Replace(configs map[string]C) error {
	use, err := s.Prepare(configs)
	if err == nil {
		use()
	}
	return err
}

// Find returns the target of a name.
func (s *Set[C, T]) Find(name string) (target T, ok bool) {
	if e := (*s.now.Load())[name]; e != nil {
		return e.target, true
	}
	return target, false
}

// Names returns the names of the targets, sorted.
func (s *Set[C, T]) Names() []string { return slices.Sorted(maps.Keys(*s.now.Load())) }
