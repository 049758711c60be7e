package simulation

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/wake"
	"github.com/rowrun/rowrun/store"
)

// process is a replica's process, which runs one scheduler after another.
type process struct {
	s                    *sim
	index                int
	dials                uint64
	cutOff, frozen, deaf spans
	unread, full         spans // of its output: nobody reads it, and there is no room for more
	starts               time.Duration
	stops                []time.Duration // it drains then, and begins anew
	config               scheduler.Config
	executing            *atomic.Int64
	drawn                uint64

	mu     sync.Mutex
	called map[string]uint64 // how often, by method, over all of its schedulers: calls of one that has ended go on beside the next one's
}

func newProcess(s *sim, index int) *process {
	d := roll(s.seed, 2, uint64(index)) //nolint:gosec // few
	p := &process{s: s, index: index, executing: &atomic.Int64{}, called: map[string]uint64{}}
	p.cutOff, p.frozen, p.deaf, p.unread, p.full = spans{s: s}, spans{s: s}, spans{s: s}, spans{s: s}, spans{s: s}
	t := s.timing
	p.config = scheduler.Config{
		Name: "r", Concurrency: pick(d, 1, 2, 3, 8), MaxBatch: pick(d, 1, 2, 1000), TwoSteps: d.chance(0.1),
		HeartbeatInterval: t.heartbeat, StaleAfter: t.lease, StaleSweepInterval: t.stale, SweepInterval: t.sweep, CancelGrace: t.grace, DrainTimeout: t.drain,
		StuckLimit: 100,
	}
	if d.chance(0.15) && p.config.Concurrency > 1 {
		p.config.Reserve = []scheduler.Reserve{{Priority: 1, Slots: 1}}
	}
	if d.chance(0.15) {
		p.config.MaxPerType = 1
	}
	if d.chance(0.5) {
		p.starts = d.between(0, time.Second)
	}
	if s.quiet {
		return p
	}
	for range d.n(2) {
		p.stops = append(p.stops, d.between(s.active/4, s.active))
	}
	part := func(of *spans, p float64, longest time.Duration) {
		for d.chance(p) && len(of.all) < 3 {
			from := d.between(0, s.faults)
			of.all = append(of.all, span{from, min(from+d.between(0, longest), s.faults)})
		}
	}
	part(&p.cutOff, 0.35, 2*t.lease)
	part(&p.frozen, 0.2, 2*t.lease)
	part(&p.deaf, 0.2, s.faults)
	part(&p.unread, 0.15, s.faults)
	part(&p.full, 0.15, 5*time.Second)
	return p
}

// thawed waits until the process is not stopped.
func (p *process) thawed(ctx context.Context) error {
	for {
		end := p.frozen.end()
		if end.IsZero() {
			return nil
		}
		p.s.count("frozen")
		if err := pause(context.WithoutCancel(ctx), time.Until(end)); err != nil {
			return err
		}
	}
}

// live runs schedulers until ctx ends.
func (p *process) live(ctx context.Context) {
	_ = pause(ctx, p.starts)
	for ctx.Err() == nil {
		serving, stop := context.WithCancel(ctx)
		for _, at := range p.stops {
			if wait := at - time.Since(p.s.began); wait > 0 {
				defer time.AfterFunc(wait, stop).Stop()
			}
		}
		p.serve(serving)
		stop()
	}
}

// serve is the life of one scheduler, with all that wakes it.
func (p *process) serve(ctx context.Context) {
	s, hub := p.s, events.NewHub()
	executing := &atomic.Int64{}
	config, database, own := p.config, newClient(s, p), &stream.Own{}
	config.Store = database
	config.Observer = scheduler.Observer{Claimed: own.Claimed, Recording: own.Ended}
	config.Random = p.random
	run := func(ctx context.Context, r *scheduler.Run) (scheduler.Result, error) {
		return p.execute(ctx, r, executing)
	}
	config.Executors = map[string]scheduler.Executor{"WORK": scheduler.ExecutorFunc(run), "OTHER": scheduler.ExecutorFunc(run)}
	var election *stream.Election
	listener, err := events.NewListener(events.ListenConfig{
		ConnConfig: p.connConfig(), Channel: store.Channel, Hub: hub, Random: p.random,
		Own:          func(pid uint32) bool { return pid == pidOf(p.index) },
		OnDisconnect: func() { election.Release() },
	})
	if err != nil {
		s.violated("listener: %v", err)
		return
	}
	one, unsubscribe, err := wake.Scheduler(hub, config)
	if err != nil {
		s.violated("scheduler: %v", err)
		return
	}
	defer unsubscribe()
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: newOutput(p)})
	if err == nil {
		election, err = stream.NewElection(stream.ElectionConfig{
			Store: database, Hub: hub, Connected: listener.Connected, Do: listener.Do, Printer: printer, Own: own, Random: p.random,
			ReplicaID: func() string { return one.Status().ReplicaID },
		})
	}
	if err != nil {
		s.violated("stream: %v", err)
		return
	}
	streaming, hush := context.WithCancel(context.WithoutCancel(ctx))
	defer hush()
	var printing sync.WaitGroup
	printing.Go(func() { _ = election.Run(streaming) })
	listening, deafen := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { _ = listener.Run(listening) })
	var asked atomic.Int64
	unhook := context.AfterFunc(ctx, func() { asked.Store(int64(time.Since(s.began))) })
	err = one.Run(ctx)
	unhook()
	took := time.Since(s.began) - time.Duration(asked.Load())
	hush()
	printing.Wait()
	deafen()
	wg.Wait()
	switch {
	case errors.Is(err, scheduler.ErrStuck):
		s.count("replica gave up, stuck")
		return
	case ctx.Err() == nil:
		s.violated("replica %d ended without being asked to: %v", p.index, err)
	case took > config.DrainTimeout+config.CancelGrace+25*time.Second && !p.frozen.since(s.began.Add(time.Duration(asked.Load()))):
		s.violated("drain of replica %d took %s, of %s", p.index, took, config.DrainTimeout)
	case err != nil && s.quiet:
		s.violated("drain of replica %d: %v", p.index, err)
	}
	s.count("drain")
}

func (p *process) random() float64 {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.drawn++
	return roll(p.s.seed, 3, uint64(p.index), p.drawn).float() //nolint:gosec // few
}

// nth counts a call of a method.
func (p *process) nth(method string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called[method]++
	return p.called[method]
}
