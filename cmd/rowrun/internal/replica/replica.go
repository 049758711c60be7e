package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/tracing"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// flushTime is what the stream's last lines may take beyond the drain.
const flushTime = 500 * time.Millisecond

// part is a long-lived piece of a replica.
type part interface {
	Run(ctx context.Context) error
}

// replica is one scheduler and one notifier with what they need around them.
type replica struct {
	scheduler   *scheduler.Scheduler
	notifier    *notifier.Notifier
	stream      *stream.Election // nil: this replica never writes the stream
	output      *stream.Output   // of the stream
	drain       time.Duration    // what a stop may take
	support     []part           // outlive the scheduler's drain and the stream
	unsubscribe func()
}

// newReplica wires a replica. It binds the HTTP address, and starts nothing.
func newReplica(c *Config, s *store.Store, deployment string, x *executors, traces *tracing.Tracer, out io.Writer, log zerolog.Logger) (*replica, error) {
	hub := events.NewHub()
	config, err := pgx.ParseConfig(c.Database.DirectURL)
	if err != nil {
		return nil, errors.New("not a connection string") // validate has parsed it before
	}
	r := &replica{output: stream.NewOutput(out, 0), drain: c.DrainTimeout}
	wake, unsubscribeWake := hub.Subscribe(r.mayOpenGate)
	available, unsubscribeAvailable := hub.SubscribeOthers(r.mayBeClaimed)
	ended, unsubscribeEnded := hub.Subscribe(r.mayBeStopped)
	if c.Wake == "poll" {
		wake, available, ended = nil, nil, nil
	}
	announced, unsubscribeAnnounced := hub.Subscribe(r.mayBeAnnounced)
	r.unsubscribe = func() {
		unsubscribeWake()
		unsubscribeAvailable()
		unsubscribeEnded()
		unsubscribeAnnounced()
	}
	listen := events.ListenConfig{ConnConfig: config, Channel: store.Channel, Hub: hub, Log: log, Probe: true, Own: s.Own}
	due, noted := make(chan bool, 1), make(chan bool, 1)
	logRuns := func() bool { return true }
	var listener *events.Listener
	kept, err := history.New(history.Config{})
	if err != nil {
		return nil, err
	}
	follower := newFollower(s, hub, func() bool { return listener.Connected() },
		func() bool { return r.stream != nil && r.stream.Holding() }, kept, log)
	counted, err := r.newMetrics(c, s, deployment, x, kept, follower, func() *events.Listener { return listener }, log)
	if err != nil {
		return nil, err
	}
	if c.StreamSource != "off" {
		printer, err := c.Log.Printer(r.output, cli.IsTerminal(out))
		if err != nil {
			return nil, err
		}
		printer.Keep(follower.written)
		var wal *stream.WALConfig
		if c.StreamSource != "listen" {
			wal = &stream.WALConfig{
				Store: s, Printer: printer, ConnConfig: config, Log: log, Asked: c.StreamSource == "wal",
			}
		}
		r.stream, err = stream.NewElection(stream.ElectionConfig{
			WAL:       wal,
			WakeByWAL: c.Wake == "auto" || c.Wake == "wal",
			Store:     s,
			Hub:       hub,
			Connected: func() bool { return listener.Connected() },
			Do: func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
				return listener.Do(ctx, fn)
			},
			ReplicaID: func() string { return r.scheduler.Status().ReplicaID },
			Printer:   printer,
			Noted:     noted,
			Log:       log,
		})
		if err != nil {
			return nil, err
		}
		listen.OnDisconnect = r.stream.Release
		logRuns = func() bool { return !r.stream.Holding() }
	}
	if listener, err = events.NewListener(listen); err != nil {
		return nil, err
	}
	waking := &wakeTeller{
		store: s, log: log, id: func() string { return r.scheduler.Status().ReplicaID },
		source: func() string { return r.wakeSource(c.Wake, listener) }, deaf: listener.Deaf,
	}
	r.support = []part{listener, counted, waking}
	schedule := scheduler.Config{
		Store:              s,
		Executors:          x.byType,
		Databases:          x.databases,
		Commands:           x.commands,
		Queues:             c.Queues,
		Name:               c.ReplicaName,
		Version:            c.Version,
		Concurrency:        c.Concurrency,
		MaxBatch:           c.MaxBatch,
		HeartbeatInterval:  c.HeartbeatInterval,
		StaleAfter:         c.StaleAfter,
		StaleSweepInterval: c.StaleSweepInterval,
		SweepInterval:      c.SweepInterval,
		CleanupInterval:    c.CleanupInterval,
		Retention:          c.Retention,
		TaskTimeout:        c.TaskTimeout,
		DrainTimeout:       c.DrainTimeout,
		StuckLimit:         c.StuckLimit,
		Wake:               wake,
		Available:          available,
		Ended:              ended,
		LogRuns:            logRuns,
		Observer:           counted.Observer(),
		Identified: func(deployment string) {
			if err := x.sql.SetDeployment(deployment); err != nil {
				log.Error().Err(err).Msg("the deployment's identity can't be used") // a column of type uuid
			}
		},
		Surveyed: func(seen store.Survey) {
			tell(due, seen.Deliveries)
			tell(noted, seen.Notes)
		},
		Log: log,
	}
	if traces != nil {
		schedule.Trace = traces.Trace
	}
	if r.scheduler, err = scheduler.New(schedule); err != nil {
		return nil, err
	}
	if r.notifier, err = newNotifier(c, s, counted, announced, due, log); err != nil {
		return nil, err
	}
	if c.HTTPAddr != "" {
		http, err := server.New(server.Config{
			Addr:    c.HTTPAddr,
			Checks:  readiness(s, r.scheduler, c.StaleAfter, waking.source, r.streamTrouble),
			Metrics: counted.Handler(),
			Status:  statusOf(s, r.scheduler),
			History: kept,
			Follow:  follower.Follow,
			Token:   c.HTTPToken,
			Log:     log,
		})
		if err != nil {
			return nil, fmt.Errorf("--http-addr: %w", err)
		}
		r.support = append(r.support, http, follower)
	}
	return r, nil
}

// streamTrouble says why this replica can't write the stream, "": it can, or needn't.
func (r *replica) streamTrouble() string {
	if r.stream == nil {
		return ""
	}
	return r.stream.Trouble()
}

// tell leaves the newest word in a one-slot channel. One goroutine tells.
func tell(c chan bool, found bool) {
	select {
	case <-c:
	default:
	}
	c <- found
}

// newNotifier wires what delivers announcements.
func newNotifier(c *Config, s *store.Store, counted *metrics.Metrics, wake <-chan struct{}, looked <-chan bool, log zerolog.Logger) (*notifier.Notifier, error) {
	sender, err := webhook.New(webhook.Config{Lookup: c.lookup, References: c.File.WebhookSecrets, Allow: c.WebhookAllow})
	if err != nil {
		return nil, err
	}
	return notifier.New(notifier.Config{
		Store: s, Send: sender.Send, SweepInterval: c.SweepInterval, DrainTimeout: max(c.DrainTimeout, time.Millisecond), Wake: wake,
		Looked: looked, Tried: counted.Webhook, Log: log,
	})
}

// mayBeAnnounced: the end of a plan's run, whoever brought it about, may have decided an event.
func (r *replica) mayBeAnnounced(t events.Transition) bool {
	if !Ends(t) || t.PlanID == nil {
		return false
	}
	if r.own(t) {
		notifier.CrashPoint("after-end-commit")
	}
	return true
}

// Which transitions concern the scheduler: those of its own making it knows already. What its own sessions promote it
// claims, or knows of, before it could hear of it.

func (r *replica) mayOpenGate(t events.Transition) bool {
	return Ends(t) && !r.own(t)
}

func (r *replica) mayBeClaimed(t events.Transition) bool {
	return t.To == "AVAILABLE" && !r.scheduler.Claimed(t.RunID)
}

func (r *replica) mayBeStopped(t events.Transition) bool {
	return Ends(t) && r.own(t)
}

func (r *replica) own(t events.Transition) bool {
	return t.ReplicaID != nil && *t.ReplicaID == r.scheduler.Status().ReplicaID
}

// Ends says that a run has ended with this transition.
func Ends(t events.Transition) bool {
	return t.To == "DONE" || t.To == "FAILED" || t.To == "CANCELED"
}

// Run serves until ctx ends. Deliveries under way are brought to their end while
// the scheduler drains. The stream goes on while both do, and the listener and
// HTTP until it has printed that: cancels still arrive, and a probe sees the
// drain.
func (r *replica) Run(ctx context.Context) error {
	defer r.unsubscribe()
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	// An output that nobody reads holds up no stop.
	unbound := context.AfterFunc(work, func() { r.output.Bound(time.Now().Add(r.drain + flushTime)) })
	defer unbound()
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
