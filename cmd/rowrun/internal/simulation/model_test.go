package simulation

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// model knows who executes what, and judges it. It is guarded by mu of the simulation's database.
type model struct {
	s          *sim
	claims     map[string]*claimed
	executions []*execution
	dead       map[string]bool
}

type claimed struct {
	run      *run
	replica  string
	executed int
}

type execution struct {
	run              *run
	root             int64
	claim            string
	process          *process
	ctx              context.Context //nolint:containedctx // of the one execution
	began            time.Time
	returned         bool
	stubborn         bool
	done, handedOver bool
}

func newModel(s *sim) *model {
	return &model{s: s, claims: map[string]*claimed{}, dead: map[string]bool{}}
}

func (m *model) claimed(r *run, claim, replica string) {
	m.claims[claim] = &claimed{run: r, replica: replica}
}

func (m *model) declaredDead(id string) { m.dead[id] = true }

// excused says whether an executor may not have been told in time: its process stood still.
func (m *model) excused(e *execution) bool { return e.process.frozen.since(e.began) }

// began notes that an executor begins.
func (m *model) began(ctx context.Context, p *process, id int64, claim string, stubborn bool) *execution {
	db := m.s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	c := m.claims[claim]
	if c == nil || c.run.id != id {
		m.s.violated("run %d is executed under a claim that nobody has", id)
		return &execution{process: p, ctx: ctx}
	}
	if c.executed++; c.executed > 1 {
		m.s.violated("run %d is executed twice under one claim", id)
	}
	for _, o := range m.executions {
		if ctx.Err() == nil && o.root == c.run.root && !o.returned && (!o.stubborn || o.ctx.Err() == nil) && !m.excused(o) {
			m.s.violated("run %d begins at replica %d while run %d of its chain is executed at replica %d", id, p.index, o.run.id, o.process.index)
		}
	}
	e := &execution{run: c.run, root: c.run.root, claim: claim, process: p, ctx: ctx, began: time.Now(), stubborn: stubborn}
	m.executions = append(m.executions, e)
	return e
}

func (m *model) ended(e *execution, err error, handedOver bool) {
	db := m.s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if m.s.logs {
		m.s.say("executor of run %d at replica %d returned: %v", e.run.id, e.process.index, err)
	}
	e.returned, e.done, e.handedOver = true, err == nil && !handedOver, handedOver
}

// takenAway judges that others end a run.
func (m *model) takenAway(r *run, why string) {
	for _, e := range m.executions {
		if e.run == r && e.claim == r.claim && !e.returned && e.ctx.Err() == nil && !m.excused(e) {
			m.s.violated("run %d was %s while replica %d executes it and wasn't told to stop", r.id, why, e.process.index)
		}
	}
}

// stray judges that a replica ends a run under its name that it believes it doesn't execute.
func (m *model) stray(id int64, p *process) {
	r := m.s.db.runs[id]
	if r == nil || r.status != "RUNNING" {
		return
	}
	m.s.count("stray ended")
	for _, e := range m.executions {
		if e.run == r && e.claim == r.claim && e.process == p && !e.handedOver {
			m.s.violated("replica %d ends run %d as not its own, which it has executed", p.index, id)
		}
	}
}

// judge is the last word.
func (m *model) judge() {
	for _, e := range m.executions {
		r := e.run
		switch {
		case !e.returned:
			m.s.violated("executor of run %d is left", r.id)
		case r.by == e.claim && e.done != (r.status == "DONE") && (!e.done || e.ctx.Err() == nil) && !e.handedOver:
			m.s.violated("run %d is %s (%s), but its executor returned done=%t", r.id, r.status, r.code, e.done)
		case m.s.quiet && r.by != e.claim && !e.handedOver:
			m.s.violated("what the executor of run %d returned was not recorded: %s (%s)", r.id, r.status, r.code)
		}
	}
	successors := map[int64]int64{}
	for _, r := range m.s.db.order {
		if r.retryOf == 0 {
			continue
		}
		if other := successors[r.retryOf]; other != 0 {
			m.s.violated("run %d has two successors", r.retryOf)
		}
		successors[r.retryOf] = r.id
	}
}

// execute is what every executor does.
func (p *process) execute(ctx context.Context, r *scheduler.Run, executing *atomic.Int64) (result scheduler.Result, err error) {
	s := p.s
	d := roll(s.seed, 4, uint64(r.ID)) //nolint:gosec // above 0
	took := pick(d, d.between(0, 5*time.Millisecond), d.between(0, 5*time.Millisecond), d.between(0, 200*time.Millisecond), d.between(0, s.longest))
	kind := d.n(100)
	stubborn := kind >= 97 && !s.quiet
	if stubborn {
		took = d.between(0, 3*s.timing.grace/2)
	}
	e := s.model.began(ctx, p, r.ID, r.Claim, stubborn)
	if n := executing.Add(1); n > int64(p.config.Concurrency) {
		s.violated("replica %d executes %d runs, with %d slots", p.index, n, p.config.Concurrency)
	}
	defer func() {
		s.model.ended(e, err, result.HandedOver)
		executing.Add(-1)
	}()
	s.traced("executor", uint64(r.ID)) //nolint:gosec // above 0
	if stubborn {
		_ = pause(context.WithoutCancel(ctx), took)
	} else if pause(ctx, took) != nil {
		_ = p.thawed(ctx)
		s.count("executor stopped: " + context.Cause(ctx).Error())
		return scheduler.Result{}, context.Cause(ctx)
	}
	_ = p.thawed(ctx)
	switch {
	case kind < 70 || kind >= 97:
		return scheduler.Result{}, nil
	case kind < 82:
		return scheduler.Result{}, errors.New("failed")
	case kind < 86:
		return scheduler.Result{}, scheduler.BadInput("failed for good")
	case kind < 89:
		return scheduler.Result{}, scheduler.Snooze(d.between(0, time.Second), "")
	case kind < 91:
		err = errors.New("panicked")
		panic("simulated")
	case kind < 94:
		return scheduler.Result{HandedOver: true}, nil
	default:
		_ = r.Progress(ctx, map[string]any{"at": 1})
		return scheduler.Result{}, nil
	}
}

// codeOf is the code that a result has.
func codeOf(e *store.Ending) string { return string(e.Result) }
