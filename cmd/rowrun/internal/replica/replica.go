package replica

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/systemd"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/wake"
	"github.com/rowrun/rowrun/store"
)

// flushTime is what the stream's last lines may take beyond the drain.
const flushTime = 500 * time.Millisecond

// part is a long-lived piece of a replica.
type part interface {
	Run(ctx context.Context) error
}

// replica is one scheduler and one notifier with the parts around them. newReplica sets the fields in the order in which
// they stand here. The parts know each other in a circle: the scheduler is woken by what the hub hears, and the hub is
// asked to leave out what the scheduler knows. So a part that calls one made after it does so by a method of replica, and
// only while Run runs.
type replica struct {
	config     *Config
	store      *store.Store
	deployment string
	executors  *executors
	process    *process
	log        zerolog.Logger
	database   *pgx.ConnConfig // the way to the server itself

	hub       *events.Hub
	history   *history.History
	listener  *events.Listener
	follower  *follower
	due       chan bool        // for the notifier: a look of the scheduler found deliveries, or none
	noted     chan bool        // for the stream: it found notes, or none
	own       stream.Own       // what the scheduler has written, for the stream
	stream    *stream.Election // nil: this replica never writes the stream
	past      *api.History     // for the dashboard
	dashboard *api.API         // nil: there is none
	metrics   *metrics.Metrics
	scheduler *scheduler.Scheduler
	sender    *webhook.Sender
	notifier  *notifier.Notifier
	waking    *wake.Teller
	checks    []server.Check   // of readiness
	addr      string           // where HTTP is served, "": nowhere
	manager   *systemd.Manager // nil: no service manager listens
	drainHTTP func()           // nil: nothing is served
	surface   *server.Surface  // nil: nothing is served
	support   []part           // outlive the scheduler's drain and the stream

	unsubscribes []func()
}

// streamTrouble says why this replica can't write the stream, "": it can, or needn't.
func (r *replica) streamTrouble() string {
	if r.stream == nil {
		return ""
	}
	return r.stream.Trouble()
}

// writing says that this replica writes the stream now.
func (r *replica) writing() bool { return r.stream != nil && r.stream.Holding() }

// id is the name under which the scheduler claims, "" while it has none.
func (r *replica) id() string { return r.scheduler.Status().ReplicaID }

// shared is Scheduler.Shared of the scheduler, which is made after the stream.
func (r *replica) shared(every time.Duration) time.Duration { return r.scheduler.Shared(every) }

// mayBeAnnounced: the end of a plan's run, whoever brought it about, may have decided an event. What a run without a plan
// decides, which is rare, is announced by itself.
func (r *replica) mayBeAnnounced(t events.Transition) bool {
	if !wake.Ends(t) || t.PlanID == nil && t.To != "FAILED" {
		return false
	}
	if wake.Own(r.scheduler, t) {
		notifier.CrashPoint("after-end-commit")
	}
	return t.PlanID != nil
}

// wakeSource is how this replica is woken now.
func (r *replica) wakeSource() string {
	switch {
	case r.config.Wake == "poll" || !r.listener.Connected():
		return wake.BySweeps
	case r.stream != nil && r.stream.Waking():
		return wake.ByLog
	}
	return wake.ByNotify
}

// Run serves until ctx ends. Deliveries under way are brought to their end while
// the scheduler drains. The stream goes on while both do, and the listener and
// HTTP until it has printed that: cancels still arrive, and a probe sees the
// drain.
func (r *replica) Run(ctx context.Context) error {
	for _, unsubscribe := range r.unsubscribes {
		defer unsubscribe()
	}
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	// An output that nobody reads holds up no stop.
	unbound := context.AfterFunc(work, func() { r.process.output.Bound(time.Now().Add(r.config.DrainTimeout + flushTime)) })
	defer unbound()
	untold := context.AfterFunc(work, r.manager.Stopping)
	defer untold()
	if r.drainHTTP != nil {
		defer context.AfterFunc(work, r.drainHTTP)()
	}
	around, stopSupport := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSupport()
	var support errgroup.Group
	for _, p := range r.support {
		support.Go(func() error {
			defer stopWork() // one that fails takes the replica down in good order
			return p.Run(around)
		})
	}
	streaming, stopStream := context.WithCancel(around)
	defer stopStream()
	var printing errgroup.Group
	if r.stream != nil {
		printing.Go(func() error { return r.stream.Run(streaming) })
	}
	var delivering errgroup.Group
	delivering.Go(func() error {
		defer stopWork()
		return r.notifier.Run(work)
	})
	err := r.scheduler.Run(work)
	stopWork()
	err = errors.Join(err, delivering.Wait())
	stopStream()
	err = errors.Join(err, printing.Wait())
	stopSupport()
	return errors.Join(err, support.Wait())
}
