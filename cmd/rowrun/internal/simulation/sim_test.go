package simulation

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// sim is one schedule.
type sim struct {
	seed    uint64
	began   time.Time
	quiet   bool
	active  time.Duration // how long users do something
	faults  time.Duration // until when faults happen
	rate    float64       // of faults of single calls
	hearing time.Duration // how long a notification takes at most
	late    time.Duration // how long a user's commit takes at most, now and then
	back    time.Duration // how far the database's clock was set back
	patient time.Duration // and where faults happen, in a few
	longest time.Duration // how long an executor takes, but for those that ignore their cancel

	db        *database
	model     *model
	told      *told
	processes []*process
	timing    timing
	running   sync.WaitGroup // what stands for the server, for users and for apps

	mu       sync.Mutex
	failures []string
	counts   map[string]int
	trace    uint64
	log      []string // nil: nobody reads it
	logs     bool
}

// timing is what all replicas of a schedule have in common.
type timing struct{ heartbeat, lease, stale, sweep, grace, drain time.Duration }

// span is a part of time.
type span struct{ from, to time.Duration }

// spans are parts of a schedule.
type spans struct {
	s   *sim
	all []span
}

// end is when the part that it is now in ends; the beginning of time: it is in none.
func (p *spans) end() (end time.Time) {
	at := time.Since(p.s.began)
	for _, one := range p.all {
		if at >= one.from && at < one.to && p.s.began.Add(one.to).After(end) {
			end = p.s.began.Add(one.to)
		}
	}
	return end
}

func (p *spans) now() bool { return !p.end().IsZero() }

// since says whether a part has touched the time since a moment.
func (p *spans) since(t time.Time) bool {
	at := time.Since(p.s.began)
	for _, one := range p.all {
		if one.from <= at && p.s.began.Add(one.to).After(t) {
			return true
		}
	}
	return false
}

func newSim(seed uint64, logs bool) *sim {
	d := roll(seed, 1)
	s := &sim{seed: seed, began: time.Now(), quiet: seed%4 == 0, counts: map[string]int{}, logs: logs}
	s.db, s.model, s.told = newDatabase(s), newModel(s), newTold(s)
	s.db.most = pick(d, 2, 10, 1000)
	s.hearing = pick(d, time.Millisecond, 5*time.Millisecond, 40*time.Millisecond)
	s.late = pick(d, 5*time.Millisecond, 30*time.Millisecond, 300*time.Millisecond)
	s.timing = timing{heartbeat: 10 * time.Second, lease: time.Minute, stale: time.Hour, sweep: time.Hour, grace: 20 * time.Second, drain: 30 * time.Second}
	s.longest, s.patient = 200*time.Millisecond, s.late
	s.active = d.between(200*time.Millisecond, 4*time.Second)
	if !s.quiet {
		s.longest, s.patient = 2*time.Second, pick(d, s.late, s.late, 3*time.Second, 15*time.Second)
		s.active, s.rate = d.between(2*time.Second, 15*time.Second), pick(d, 0.0, 0.01, 0.05, 0.2)
		s.faults = s.active + d.between(0, 5*time.Second)
		beat := d.between(300*time.Millisecond, 3*time.Second)
		s.timing = timing{
			heartbeat: beat, lease: beat * time.Duration(d.from(3, 5)), stale: d.between(500*time.Millisecond, 5*time.Second),
			sweep: d.between(300*time.Millisecond, 5*time.Second), grace: d.between(200*time.Millisecond, 4*time.Second), drain: d.between(time.Second, 8*time.Second),
		}
	}
	for i := range d.from(1, 4) {
		s.processes = append(s.processes, newProcess(s, i))
	}
	s.makeWorld(d)
	return s
}

// faulty says whether faults happen now.
func (s *sim) faulty() bool { return !s.quiet && time.Since(s.began) < s.faults }

// fate is what becomes of a call.
type fate struct {
	there, back, commit            time.Duration
	unreachable, unanswered, hangs bool
	refused                        string
}

func (s *sim) fateOf(c *client, d *dice) fate {
	f := fate{there: d.between(30*time.Microsecond, 600*time.Microsecond), back: d.between(30*time.Microsecond, 600*time.Microsecond)}
	if d.chance(0.05) {
		f.there, f.back = d.between(0, 20*time.Millisecond), d.between(0, 20*time.Millisecond)
	}
	switch d.n(20) {
	case 0:
		f.commit = d.between(0, s.late)
	case 1, 2, 3, 4:
		f.commit = d.between(0, 3*time.Millisecond)
	}
	f.hangs = d.chance(0.3)
	if !s.faulty() {
		return f
	}
	f.unreachable = c.process.cutOff.now()
	if !d.chance(s.rate) {
		return f
	}
	switch d.n(7) {
	case 0:
		f.unreachable = true
	case 1, 2:
		f.unanswered = true
	case 3:
		f.refused = pick(d, "40P01", "57014", "53300", "55P03", "XX000", "40001")
	case 4:
		f.there = d.between(0, 4*time.Second)
	case 5:
		f.back = d.between(0, 20*time.Second)
	case 6:
		f.commit = d.between(0, pick(d, time.Second, 25*time.Second))
	}
	return f
}

// violated notes that something does not hold.
func (s *sim) violated(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Sprintf("%s: ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

func (s *sim) count(what string) {
	s.mu.Lock()
	s.counts[what]++
	s.mu.Unlock()
	if s.logs {
		s.say("%s", what)
	}
}

// traced notes that something happened now, whatever else happens at this moment.
func (s *sim) traced(what string, n uint64) {
	s.mu.Lock()
	at := uint64(*roll(textOf(what), n, uint64(time.Since(s.began)))) //nolint:gosec // above 0
	s.trace += at
	seedChance(s.seed ^ at)
	s.mu.Unlock()
	if s.logs {
		s.say("%s %d.%d", what, n>>32, n&0xffffffff)
	}
}

func (s *sim) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%12s ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

// run plays the schedule.
func (s *sim) run(ctx context.Context) {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var replicas sync.WaitGroup
	for _, p := range s.processes {
		replicas.Go(func() { p.live(serving) })
	}
	s.users()
	_ = pause(ctx, s.active)
	_ = pause(ctx, s.faults-time.Since(s.began))
	limit := 20 * time.Second
	if !s.quiet {
		t := s.timing
		s.db.mu.Lock()
		limit = 3*t.lease + 2*t.stale + 3*t.sweep + 90*time.Second + s.back
		s.db.mu.Unlock()
	}
	for end := time.Now().Add(limit); s.db.left() != "" && time.Now().Before(end); {
		_ = pause(ctx, 250*time.Millisecond)
	}
	if left := s.db.left(); left != "" {
		s.violated("not ended: %s", left)
	}
	s.told.await(ctx)
	stop()
	replicas.Wait()
	_ = pause(ctx, 2*s.timing.grace) // executors that ignore their cancel
	s.told.judge()
	s.db.mu.Lock()
	s.db.down = true
	s.db.restart()
	s.db.mu.Unlock()
	s.running.Wait()
	s.model.judge()
}
