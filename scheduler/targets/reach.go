package targets

import (
	"sync/atomic"

	"github.com/rs/zerolog"
)

// Reach tells others whether a target can be connected to.
type Reach struct {
	name        string
	unreachable func(name string, err error) // may be nil
	log         zerolog.Logger
	said        atomic.Pointer[string] // why it could not be reached, as it was logged; nil: it could
}

// NewReach returns the Reach of one target. unreachable, where not nil, is told of each run that could not connect.
func NewReach(name string, unreachable func(name string, err error), log zerolog.Logger) *Reach {
	return &Reach{name: name, unreachable: unreachable, log: log}
}

// Failed tells that a run could not connect: full with where the target is, for the log, which gets it once until that changes;
// why without, as the run's own failure names no place.
func (r *Reach) Failed(full, why error) {
	text := full.Error()
	if before := r.said.Swap(&text); before == nil || *before != text {
		r.log.Warn().Str("database_id", r.name).Str("error", text).Msg("could not connect to a target database")
	}
	if r.unreachable != nil {
		r.unreachable(r.name, why)
	}
}

// Succeeded tells that a run could connect.
func (r *Reach) Succeeded() { r.said.Store(nil) }
