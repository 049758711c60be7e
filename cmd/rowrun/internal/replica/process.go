package replica

import (
	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/tracing"
	"github.com/rowrun/rowrun/scheduler"
)

// process is what a replica has of the process that it lives in. Replicas of several shards have all of it in common but for the name
// of the shard.
type process struct {
	output *stream.Output // of the stream
	color  bool
	traces *tracing.Tracer // nil: none are sent
	door   *door           // nil: nothing is served over HTTP, or it is one of shards

	// Of shards only.
	shard string
	pool  *scheduler.Pool // nil: its slots are its own
	guard *auth.Guard     // nil: nothing is served over HTTP
	begin func(*replica)  // tells of a replica that runs, nil: of one that ended
}

// serve tells the process of a replica until the function that it returns is called.
func (p *process) serve(r *replica) (over func()) {
	if p.door != nil {
		p.door.front.Serve(r.surface)
	}
	if p.begin == nil {
		return func() {}
	}
	p.begin(r)
	return func() { p.begin(nil) }
}
