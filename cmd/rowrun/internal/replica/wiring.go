package replica

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/wake"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// newReplica makes the parts of a replica, each after those that it is handed. It starts nothing.
func newReplica(c *Config, s *store.Store, deployment string, x *executors, of *process, log zerolog.Logger) (*replica, error) {
	config, err := connect.Parse(c.Database.DirectURL)
	if err != nil {
		return nil, err
	}
	s.Guard(config)
	r := &replica{
		config: c, store: s, deployment: deployment, executors: x, process: of, log: log, database: config,
		hub: events.NewHub(), due: make(chan bool, 1), noted: make(chan bool, 1),
	}
	for _, make := range []func() error{
		r.makeListener, r.makeFollower, r.makeStream, r.makeMetrics,
		r.makeScheduler, r.makeNotifier, r.makeWaking, r.makeServer, r.makeManager,
	} {
		if err := make(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// makeListener makes the connection on which notifications come. The stream lives on it too.
func (r *replica) makeListener() (err error) {
	r.listener, err = events.NewListener(events.ListenConfig{
		ConnConfig: r.database, Channel: store.Channel, Hub: r.hub, Log: r.log, Probe: true, Own: r.store.Own,
		OnDisconnect: r.releaseStream,
	})
	return err
}

// releaseStream: who has lost its connection writes the stream no more.
func (r *replica) releaseStream() {
	if r.stream != nil {
		r.stream.Release()
	}
}

// makeFollower makes the lines that readers of /events get, whoever writes the stream.
func (r *replica) makeFollower() (err error) {
	if r.history, err = history.New(history.Config{Shard: r.process.shard}); err != nil {
		return err
	}
	r.follower = newFollower(r.store, r.hub, r.listener.Connected, r.writing, r.history, r.log)
	r.follower.shard = r.process.shard
	return nil
}

// makeStream makes the stream on standard output, where this replica may write it.
func (r *replica) makeStream() error {
	c := r.config
	if c.StreamSource == "off" {
		return nil
	}
	printer, err := c.Log.Printer(r.process.output, r.process.color, r.process.shard)
	if err != nil {
		return err
	}
	printer.Keep(r.follower.written)
	var wal *stream.WALConfig
	if c.StreamSource != "listen" {
		wal = &stream.WALConfig{
			Store: r.store, Printer: printer, ConnConfig: r.database, Log: r.log, Asked: c.StreamSource == "wal",
		}
	}
	r.stream, err = stream.NewElection(stream.ElectionConfig{
		WAL:       wal,
		WakeByWAL: c.Wake == "auto" || c.Wake == "wal",
		Store:     r.store,
		Hub:       r.hub,
		Connected: r.listener.Connected,
		Do:        r.listener.Do,
		ReplicaID: r.id,
		Shared:    r.shared,
		Printer:   printer,
		Own:       &r.own,
		Noted:     r.noted,
		Log:       r.log,
	})
	return err
}

// makeScheduler makes what claims and executes. With --wake poll nothing wakes it but its sweeps.
func (r *replica) makeScheduler() (err error) {
	c, x := r.config, r.executors
	config := scheduler.Config{
		Store:              r.store,
		Admin:              c.Admin(),
		Executors:          x.byType,
		Databases:          x.databases,
		Engines:            x.engines,
		Commands:           x.commands,
		Queues:             c.Queues,
		Name:               c.ReplicaName,
		Version:            c.Version,
		Concurrency:        c.Concurrency,
		Pool:               r.process.pool,
		Reserve:            c.Reserve,
		MaxBatch:           c.MaxBatch,
		TwoSteps:           c.TwoSteps,
		HeartbeatInterval:  c.HeartbeatInterval,
		StaleAfter:         c.StaleAfter,
		StaleSweepInterval: c.StaleSweepInterval,
		SweepInterval:      c.SweepInterval,
		CleanupInterval:    c.CleanupInterval,
		Retention:          c.Retention,
		RetentionFailed:    c.RetentionFailed,
		TaskTimeout:        c.TaskTimeout,
		DrainTimeout:       max(c.DrainTimeout, time.Millisecond), // 0 is its default
		StuckLimit:         c.StuckLimit,
		TypeLimits:         c.File.typeLimits(),
		MaxPerType:         c.MaxClaimsPerType,
		Recovery:           c.Recovery, RecoveryConcurrency: c.RecoveryConcurrency, RecoveryRate: c.RecoveryRate,
		LogRuns:    func() bool { return !r.writing() }, // who writes the stream says it there
		Observer:   r.observer(),
		Identified: r.identified,
		Surveyed: func(seen store.Survey) {
			tell(r.due, seen.Deliveries)
			tell(r.noted, seen.Notes)
		},
		Log: r.log,
	}
	if r.process.traces != nil {
		config.Trace = r.process.traces.Trace
	}
	if c.Wake == "poll" {
		r.scheduler, err = scheduler.New(config)
		r.makeFleet()
		return err
	}
	var unsubscribe func()
	r.scheduler, unsubscribe, err = wake.Scheduler(r.hub, config)
	r.unsubscribes = append(r.unsubscribes, unsubscribe)
	r.makeFleet()
	return err
}

// observer counts what the scheduler does, and has the stream know what it has written.
func (r *replica) observer() scheduler.Observer {
	o := r.metrics.Observer()
	if r.stream == nil {
		return o
	}
	count := o.Claimed
	o.Claimed = func(claims []store.Claim) {
		r.own.Claimed(claims)
		count(claims)
	}
	o.Recording = r.own.Ended
	return o
}

// makeFleet has the scheduler follow the targets of databases_from.
func (r *replica) makeFleet() {
	if r.executors.fleet == nil {
		return
	}
	r.executors.fleet.announce = func(reached map[string]FileDatabase, aside map[string]string) {
		r.scheduler.SetDatabases(names(reached), enginesOf(reached), aside)
	}
}

// identified: the deployment that the work in the targets is marked with may change while a replica lives.
func (r *replica) identified(deployment string) {
	if err := r.executors.setDeployment(deployment); err != nil {
		r.log.Error().Err(err).Msg("the deployment's identity can't be used") // a column of type uuid
	}
}

// makeNotifier makes what delivers announcements.
func (r *replica) makeNotifier() error {
	c := r.config
	var err error
	r.sender, err = webhook.New(webhook.Config{Lookup: c.lookup, References: c.File.WebhookSecrets, Allow: c.WebhookAllow})
	if err != nil {
		return err
	}
	announced, unsubscribe := r.hub.Subscribe(r.mayBeAnnounced)
	r.unsubscribes = append(r.unsubscribes, unsubscribe)
	r.notifier, err = notifier.New(notifier.Config{
		Store: r.store, Send: r.sender.Send, SweepInterval: c.SweepInterval, DrainTimeout: max(c.DrainTimeout, time.Millisecond),
		PublicURL: c.PublicURL, Wake: announced, Shared: r.scheduler.Shared, Looked: r.due, Tried: r.metrics.Webhook, Log: r.log,
	})
	return err
}

// makeWaking makes what tells how this replica is woken.
func (r *replica) makeWaking() error {
	r.waking = &wake.Teller{
		Store: r.store, Scheduler: r.scheduler, Source: r.wakeSource, Deaf: r.listener.Deaf,
		DeafText: ", and this replica writes no stream; set --direct-url to the server itself", Log: r.log,
	}
	r.support = []part{r.listener, r.metrics, r.waking}
	if r.executors.fleet != nil {
		r.support = append(r.support, r.executors.fleet)
	}
	return nil
}

// makeServer makes the HTTP surface, unless there is none.
func (r *replica) makeServer() error {
	c := r.config
	r.checks = readiness(r.store, r.scheduler, c.StaleAfter, r.wakeSource, r.streamTrouble)
	if c.HTTPAddr == "" {
		return nil
	}
	if err := r.makeDashboard(); err != nil {
		return err
	}
	available, unsubscribe := r.hub.Subscribe(func(t events.Transition) bool { return t.To == "AVAILABLE" })
	r.unsubscribes = append(r.unsubscribes, unsubscribe)
	config := server.Config{
		Checks:  r.checks,
		Metrics: r.metrics.Handler(),
		Status:  statusOf(r.store, r.scheduler),
		History: r.history,
		Follow:  r.follower.Follow,
		Token:   c.HTTPToken, Operators: c.Dashboard.Operators, Deployment: r.deployment,
		Dashboard: handler(r.dashboard), Prefix: c.Dashboard.Prefix, HideData: c.Dashboard.HideData,
		Workers: r.store, WorkerToken: c.HTTPWorkerToken, WorkerWake: available,
		// Half of what the parts that keep a connection to themselves leave.
		WorkerSlots: max(1, (c.DatabaseConns-3)/2),
		Log:         r.log,
	}
	return r.makeSurface(config)
}

// makeSurface makes what the process serves of its replica, or of a shard.
func (r *replica) makeSurface(config server.Config) (err error) {
	guard := r.process.guard
	if door := r.process.door; door != nil {
		guard = door.front.Guard(config)
		r.addr = door.front.Addr().String()
		r.support = append(r.support, door)
	} else {
		config.Prefix = "" // the process has taken it away
	}
	if r.surface, err = server.NewSurface(config, guard); err != nil {
		return err
	}
	r.drainHTTP = r.surface.Drain
	r.serves(r.surface)
	return nil
}

// serves adds what answers over HTTP to the parts, with those that it needs.
func (r *replica) serves(http part) {
	r.support = append(r.support, http, r.follower)
	if r.dashboard != nil {
		r.support = append(r.support, r.dashboard)
	}
}

// makeDashboard makes what answers the dashboard, unless there is none.
func (r *replica) makeDashboard() (err error) {
	var unsubscribe func()
	r.dashboard, r.past, unsubscribe, err = r.config.Dashboard.makeAPI(board{
		store: r.store, hub: r.hub, deployment: r.deployment, name: r.config.ReplicaName, shard: r.process.shard, version: r.config.Version,
		slots: max(1, (r.config.DatabaseConns-3)/3), sender: r.sender, publicURL: r.config.PublicURL, log: r.log,
	})
	if err != nil {
		return err
	}
	r.unsubscribes = append(r.unsubscribes, unsubscribe)
	return nil
}

// started tells the dashboard how long a run has waited.
func (r *replica) started(delay time.Duration) {
	if r.past != nil {
		r.past.Delay(delay)
	}
}

// tell leaves the newest word in a one-slot channel. One goroutine tells.
func tell(c chan bool, found bool) {
	select {
	case <-c:
	default:
	}
	c <- found
}
