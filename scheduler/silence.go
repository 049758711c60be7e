package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// briefSilence is a third of the shortest lease that a worker may have, about: a worker lives through so long a silence.
	briefSilence = 300 * time.Millisecond
	// silencesFor is how long silences tell anything: no lease of a worker is waited for any longer.
	silencesFor = 5 * time.Minute
)

// silences are the stretches of time in which this replica can't say whether the database answered. A heartbeat that fails breaks
// contact; what is shorter than that, and lies between its questions, is nothing to a replica, but may be all of a worker's lease.
// Moments are since the incarnation began.
type silences struct {
	mu    sync.Mutex
	asked time.Duration // when the last question was sent that was answered
	list  []silence
}

type silence struct{ from, to time.Duration }

// answered takes an answer of the database. It has answered at some moment between the two: silence lasts from the question before.
func (s *silences) answered(asked, answered time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lasted := answered - s.asked; lasted > briefSilence {
		// One that lasted no longer tells nothing beside a later one.
		s.list = slices.DeleteFunc(s.list, func(o silence) bool { return o.to-o.from <= lasted || answered-o.to > silencesFor })
		s.list = append(s.list, silence{s.asked, answered})
	}
	s.asked = max(s.asked, asked)
}

// by are the silences by the database's clock, of which a reading was taken; each as long as it may have been.
func (s *silences) by(r reading) []store.Silence {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]store.Silence, len(s.list))
	for i, o := range s.list {
		list[i] = store.Silence{From: r.now.Add(o.from - r.answered), To: r.now.Add(o.to - r.asked)}
	}
	return list
}
