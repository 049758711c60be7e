package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

var errReset = errors.New("connection reset by peer (simulated)")

// client is the store of one replica.
type client struct {
	s       *sim
	index   int
	process *process

	lanes map[string]chan struct{}
}

var _ scheduler.Store = (*client)(nil)

func newClient(s *sim, p *process) *client {
	c := &client{s: s, index: p.index, process: p, lanes: map[string]chan struct{}{}}
	for _, lane := range []string{"beats", "passes", "ends"} {
		c.lanes[lane] = make(chan struct{}, 1)
	}
	return c
}

// pid is the number of the server process behind a connection of the replica.
func (c *client) pid() uint32 { return pidOf(c.index) }

func pidOf(index int) uint32 { return uint32(100 + index) } //nolint:gosec // few

// call is one call: it travels to the server, is executed there in a transaction, which commits or doesn't, and the answer
// travels back. What becomes of it was decided when the schedule was made.
func call[T any](ctx context.Context, c *client, method, lane string, do func(ctx context.Context, tx *transaction, d *dice) (T, error)) (T, error) {
	var none T
	n := c.process.nth(method)
	d := roll(c.s.seed, uint64(c.index), textOf(method), n) //nolint:gosec // few
	fate := c.s.fateOf(c, d)
	c.s.traced(method, uint64(c.index)<<32|n) //nolint:gosec // few
	if err := c.process.thawed(ctx); err != nil {
		return none, err
	}
	if own := c.lanes[lane]; own != nil {
		select {
		case own <- struct{}{}:
			defer func() { <-own }()
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	if err := pause(ctx, fate.there); err != nil {
		return none, err
	}
	switch {
	case fate.unreachable:
		c.s.count("call that did not arrive")
		c.unanswered(method)
		return none, failure(ctx, fate)
	case fate.refused != "":
		c.s.count("call refused with " + fate.refused)
		return none, refusal(fate.refused)
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	c.s.running.Go(func() {
		value, err := execute(ctx, c, fate, d, do)
		answered <- answer{value, err}
	})
	select {
	case a := <-answered:
		if err := pause(ctx, fate.back); err != nil {
			c.s.count("answer too late")
			return none, err
		}
		if fate.unanswered || c.process.cutOff.now() {
			c.s.count("answer lost")
			c.unanswered(method)
			return none, failure(ctx, fate)
		}
		if err := c.process.thawed(ctx); err != nil {
			return none, err
		}
		return a.value, a.err
	case <-ctx.Done():
		c.s.count("call given up")
		return none, ctx.Err()
	}
}

// unanswered counts calls of the stream that got no answer.
func (c *client) unanswered(method string) {
	if strings.Contains(method, "Stream") {
		c.s.count("stream: no answer to " + method)
	}
}

// execute is the server's part: once begun it goes on, whether or not somebody waits for the answer.
func execute[T any](ctx context.Context, c *client, fate fate, d *dice, do func(ctx context.Context, tx *transaction, d *dice) (T, error)) (T, error) {
	db := c.s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	var none T
	if db.down {
		return none, errReset
	}
	tx := db.begin(c.index, c.pid())
	value, err := do(ctx, tx, d)
	if tx.over {
		db.free(tx, false)
		return none, errReset
	}
	if err != nil && !errors.Is(err, store.ErrDead) {
		db.end(tx, false)
		return none, err
	}
	tx.said()
	if fate.commit > 0 {
		db.mu.Unlock()
		_ = pause(context.WithoutCancel(ctx), fate.commit)
		db.mu.Lock()
	}
	if tx.over {
		c.s.count("commit that the server lost")
		return none, errReset
	}
	db.end(tx, true)
	return value, err
}

// failure is how a call fails that gets no answer: at once, or when its time is over.
func failure(ctx context.Context, f fate) error {
	if f.hangs && pause(ctx, hangs) != nil {
		return ctx.Err()
	}
	return errReset
}

// hangs is how long a call waits on a connection that is gone.
const hangs = 20 * time.Second

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do is a call that gives nothing back.
func (c *client) do(ctx context.Context, method, lane string, do func(context.Context, *transaction) error) error {
	_, err := call(ctx, c, method, lane, func(ctx context.Context, tx *transaction, _ *dice) (struct{}, error) { return struct{}{}, do(ctx, tx) })
	return err
}

func laneOf(l store.Lane) string {
	switch l {
	case store.LanePasses:
		return "passes"
	case store.LaneEnds:
		return "ends"
	default:
		return "pool"
	}
}

func (c *client) Work(ctx context.Context, t store.Trip) (store.Round, error) {
	return call(ctx, c, "Work on "+laneOf(t.Lane), laneOf(t.Lane), func(ctx context.Context, tx *transaction, d *dice) (store.Round, error) {
		return c.s.db.work(ctx, tx, &t, d)
	})
}

func (c *client) EndRuns(ctx context.Context, endings []store.Ending, lock time.Duration) ([]store.Ended, store.Opened, error) {
	return c.endRuns(ctx, "EndRuns", "ends", endings, lock)
}

func (c *client) EndHeldRuns(ctx context.Context, endings []store.Ending, lock time.Duration) ([]store.Ended, store.Opened, error) {
	return c.endRuns(ctx, "EndHeldRuns", "pool", endings, lock)
}

func (c *client) endRuns(ctx context.Context, method, lane string, endings []store.Ending, lock time.Duration) ([]store.Ended, store.Opened, error) {
	type answer struct {
		ended  []store.Ended
		opened store.Opened
	}
	a, err := call(ctx, c, method, lane, func(ctx context.Context, tx *transaction, d *dice) (a answer, err error) {
		for i := range endings {
			if endings[i].Claim == "" {
				c.s.model.stray(endings[i].ID, c.process)
			}
		}
		var gates bool
		if a.ended, gates, err = c.s.db.ends(ctx, tx, endings, lock); err != nil || !gates {
			return a, err
		}
		if d.chance(0.5) && c.s.db.lockPromotion(tx) {
			promoted, _ := c.s.db.promote(tx, c.s.db.candidates(tx, true), c.s.db.most)
			a.opened.Promoted = len(promoted)
		}
		tx.then = append(tx.then, func() { c.s.db.marks++ })
		a.opened.Marked = true
		return a, nil
	})
	return a.ended, a.opened, err
}

func (c *client) HandOver(ctx context.Context, id int64, claim string) (bool, error) {
	return call(ctx, c, "HandOver", "pool", func(ctx context.Context, tx *transaction, d *dice) (bool, error) {
		r := c.s.db.runs[id]
		if r == nil {
			return false, nil
		}
		if err := c.s.db.wait(ctx, tx, r, 0); err != nil {
			return false, err
		}
		v := tx.of(r)
		if v.status != "RUNNING" || v.claim != claim || v.cancel || v.replica == "" {
			return v.handedOver && v.claim == claim, nil
		}
		v.replica, v.handedOver, v.deadline = "", true, c.s.db.now().Add(5*time.Second)
		tx.touch(v)
		tx.then = append(tx.then, func() { c.s.appTakes(r, claim) })
		return true, nil
	})
}

func (c *client) Resolve(context.Context, *store.Claim) error { return nil }

func (c *client) Watch(ctx context.Context, id string, executed []store.Watched) ([]store.Held, error) {
	return call(ctx, c, "Watch", "pool", func(context.Context, *transaction, *dice) ([]store.Held, error) {
		return c.s.db.watch(id, executed), nil
	})
}

func (c *client) ReportProgress(ctx context.Context, id int64, claim string, _ json.RawMessage) (bool, error) {
	return call(ctx, c, "ReportProgress", "pool", func(ctx context.Context, tx *transaction, _ *dice) (bool, error) {
		r := c.s.db.runs[id]
		if r == nil {
			return false, nil
		}
		if err := c.s.db.wait(ctx, tx, r, 0); err != nil {
			return false, err
		}
		v := tx.of(r)
		if v.status != "RUNNING" || v.claim != claim {
			return false, nil
		}
		v.progressAt = c.s.db.now()
		tx.touch(v)
		return true, nil
	})
}

func (c *client) AppendLog(context.Context, int64, string, string, json.RawMessage) error { return nil }

func (c *client) NoteStalled(ctx context.Context, _ int64) error {
	return c.do(ctx, "NoteStalled", "pool", func(context.Context, *transaction) error { return nil })
}

func (c *client) Whereabouts(ctx context.Context) (store.Whereabouts, error) {
	return call(ctx, c, "Whereabouts", "pool", func(context.Context, *transaction, *dice) (store.Whereabouts, error) {
		return store.Whereabouts{ID: "simulated"}, nil
	})
}

func (c *client) Register(ctx context.Context, r store.Replica) error {
	return c.do(ctx, "Register", "pool", func(_ context.Context, tx *transaction) error {
		c.s.db.register(tx, r)
		return nil
	})
}

func (c *client) Heartbeat(ctx context.Context, id string, _ int) error {
	return c.do(ctx, "Heartbeat", "beats", func(ctx context.Context, tx *transaction) error { return c.s.db.heartbeat(ctx, tx, id) })
}

func (c *client) Drain(ctx context.Context, id string) error {
	return c.do(ctx, "Drain", "beats", func(ctx context.Context, tx *transaction) error {
		h := c.s.db.replicas[id]
		if h == nil {
			return nil
		}
		if err := c.s.db.released(ctx, tx, h); err != nil {
			return err
		}
		tx.then = append(tx.then, func() {
			if h.state == "ACTIVE" {
				h.state = "DRAINING"
			}
		})
		return nil
	})
}

func (c *client) Deregister(ctx context.Context, id string) error {
	return c.do(ctx, "Deregister", "pool", func(ctx context.Context, tx *transaction) error { return c.s.db.deregister(ctx, tx, id) })
}

func (c *client) TypeRules(ctx context.Context) ([]store.TypeRule, error) {
	return call(ctx, c, "TypeRules", "pool", func(context.Context, *transaction, *dice) ([]store.TypeRule, error) { return nil, nil })
}

func (c *client) ClaimRules(ctx context.Context, _ string) ([]store.TypeRule, bool, error) {
	rules, err := call(ctx, c, "ClaimRules", "pool", func(context.Context, *transaction, *dice) ([]store.TypeRule, error) { return nil, nil })
	return rules, false, err
}

func (c *client) AnnounceTypes(ctx context.Context, _ string, _ []string) error {
	return c.do(ctx, "AnnounceTypes", "pool", func(context.Context, *transaction) error { return nil })
}

func (c *client) AnnounceDatabases(context.Context, string, []string, map[string]string, map[string]string) error {
	return nil
}

func (c *client) AnnounceConcurrency(ctx context.Context, _ string, _ int) error {
	return c.do(ctx, "AnnounceConcurrency", "pool", func(context.Context, *transaction) error { return nil })
}

func (c *client) Survey(ctx context.Context, id string, w store.Capabilities, depth store.SurveyDepth) (store.Survey, error) {
	return call(ctx, c, "Survey", "passes", func(context.Context, *transaction, *dice) (store.Survey, error) { return c.s.db.survey(id, w, depth) })
}

func (c *client) Blockers(context.Context) ([]store.HoldUp, error) { return nil, nil }

func (c *client) Clock(ctx context.Context) (time.Time, error) {
	return call(ctx, c, "Clock", "pool", func(context.Context, *transaction, *dice) (time.Time, error) { return c.s.db.now(), nil })
}

func (c *client) DeadReplicas(ctx context.Context, contact time.Duration) ([]string, error) {
	return call(ctx, c, "DeadReplicas", "pool", func(context.Context, *transaction, *dice) ([]string, error) { return c.s.db.deadReplicas(contact), nil })
}

func (c *client) EndFrozenSessions(context.Context, time.Duration) ([]int32, error) { return nil, nil }

func (c *client) EndDeadReplica(ctx context.Context, id string) ([]store.Ended, error) {
	return call(ctx, c, "EndDeadReplica", "pool", func(_ context.Context, tx *transaction, _ *dice) ([]store.Ended, error) {
		return c.s.db.endDeadReplica(tx, id), nil
	})
}

func (c *client) EndOverdue(ctx context.Context, _ store.Contact) ([]store.Ended, error) {
	return call(ctx, c, "EndOverdue", "pool", func(_ context.Context, tx *transaction, _ *dice) ([]store.Ended, error) {
		return c.s.db.endOverdue(tx), nil
	})
}

func (c *client) AgeRuns(context.Context, int) (int, bool, error) { return 0, false, nil }

func (c *client) SweepSchedules(context.Context, int64, int) (int64, int, error) { return 0, 0, nil }

func (c *client) NoteOrphans(context.Context, time.Duration, time.Duration) (int, error) {
	return 0, nil
}

func (c *client) RemoveOldHeartbeats(context.Context, time.Duration) (int64, error) { return 0, nil }

func (c *client) RemoveOldNotes(context.Context) (int64, error) { return 0, nil }

func (c *client) RemoveOldWorkerRequests(context.Context) error { return nil }

func (c *client) RemoveOld(context.Context, store.Retention, func(store.Removed)) (store.Removed, error) {
	return store.Removed{}, nil
}

func (c *client) LookForOutage(ctx context.Context, _ time.Duration, _ store.Capabilities) (store.Outage, error) {
	return call(ctx, c, "LookForOutage", "pool", func(context.Context, *transaction, *dice) (store.Outage, error) {
		return store.Outage{Live: c.s.db.alive(), Silent: -1}, nil
	})
}

func (c *client) BeginRecovery(context.Context, store.Outage) (int64, error) { return 0, nil }

func (c *client) CountRecovery(context.Context, int64, int64, store.Counting) (bool, *store.Recovery, error) {
	return false, nil, nil
}

func (c *client) TakeRecoveryStarts(_ context.Context, _ int64, want int, _, _ float64) (int, time.Duration, error) {
	return want, 0, nil
}

func (c *client) GiveRecoveryStarts(context.Context, int64, int, float64) error { return nil }
