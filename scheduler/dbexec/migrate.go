package dbexec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowrun/rowrun/scheduler"
)

// Migrator executes DATABASE_MIGRATE tasks. Its targets are those of the Executor.
type Migrator struct{ sql *Executor }

// Migrate returns the executor for DATABASE_MIGRATE.
func (x *Executor) Migrate() *Migrator { return &Migrator{sql: x} }

// migration is a run of a DATABASE_MIGRATE task.
type migration struct {
	*job
	key ledgerKey
}

// alreadyApplied ends a run DONE without executing anything.
type alreadyApplied struct{ entry *entry }

func (e *alreadyApplied) Error() string { return fmt.Sprintf("applied already by run %d", e.entry.run) }

// Execute runs a DATABASE_MIGRATE task.
func (m *Migrator) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	j, err := m.sql.job(run, true)
	if err != nil {
		return scheduler.Result{}, err
	}
	if run.Version == "" {
		return scheduler.Result{}, scheduler.BadInput("the task has no version: DATABASE_MIGRATE needs one, such as 1.2")
	}
	hash := sha256.Sum256([]byte(j.text))
	g := &migration{job: j, key: ledgerKey{
		deployment: j.deployment, task: run.TaskID, version: normalVersion(run.Version), hash: hex.EncodeToString(hash[:]), run: run.ID,
	}}
	// What an earlier attempt does in a transaction is undone with it; a statement that commits by itself is let end, as its work
	// would be lost.
	lock := lockName(g.key.deployment, "version", strconv.FormatInt(g.key.task, 10), g.key.version)
	err = j.onTarget(ctx, lock, j.transaction, func(s *session) error {
		if err := s.createLedger(ctx); err != nil {
			return err
		}
		if j.transaction {
			return g.together(ctx, s)
		}
		return g.separately(ctx, s)
	})
	if already, ok := errors.AsType[*alreadyApplied](err); ok {
		return scheduler.Result{Output: map[string]any{
			"code": "ALREADY_APPLIED", "applied_by_run": already.entry.run, "statements": 0, "rows_affected": 0,
		}}, nil
	}
	if err != nil {
		return scheduler.Result{}, j.fail(ctx, err)
	}
	output := j.output()
	output["ledger"] = "APPLIED"
	return scheduler.Result{Output: output}, nil
}

// together applies the version in one transaction, the ledger's row in it.
func (g *migration) together(ctx context.Context, s *session) error {
	if err := s.engine.begin(ctx, s); err != nil {
		return fmt.Errorf("begin the transaction: %w", err)
	}
	p, err := g.take(ctx, s)
	if err != nil {
		return err
	}
	for i := range g.statements {
		if i < p.from && !g.statements[i].session {
			continue
		}
		if g.statements[i].opaque {
			if err := g.mark(ctx, s, i); err != nil {
				return err
			}
		}
		if err := g.inTransaction(ctx, s, i); err != nil {
			return err
		}
	}
	if err := g.lasted(ctx, s); err != nil {
		return err
	}
	if err := g.finish(ctx, s); err != nil {
		return err
	}
	return g.commit(ctx, s, func(ctx context.Context) (bool, error) {
		var found *entry
		err := g.target.fresh(ctx, s.label+" ledger", func(ctx context.Context, other *session) error {
			var err error
			found, err = other.read(ctx, &g.key)
			return err
		})
		return found != nil && found.status == statusDone && found.run == g.key.run, err
	})
}

// point is where an attempt goes on.
type point struct {
	from  int  // the first statement that is not known to have taken effect
	sent  int  // the one of which an earlier attempt doesn't know whether it did; -1: none
	doubt bool // there is one, and the engine tells
}

// take writes the ledger's row, or takes over one that an earlier attempt left, or says why the statements must not run.
func (g *migration) take(ctx context.Context, s *session) (point, error) {
	l := s.engine.ledger(g.target)
	found, err := s.read(ctx, &g.key)
	if err != nil {
		return point{}, err
	}
	k := &g.key
	if found == nil {
		return point{sent: -1}, s.change(ctx, l.insert, append(k.row(), k.hash, k.run, statusStarted, 0, "")...)
	}
	p, err := g.goOn(found)
	if err != nil {
		return point{}, err
	}
	g.skipped = p.from
	if p.from > 0 {
		g.log.say(ctx, fmt.Sprintf("run %d has applied %d of %d statements: this one goes on behind them", found.run, p.from, len(g.statements)))
	}
	args := []any{k.hash, k.run, statusStarted, p.from, hashOf(g.statements, p.from), p.doubt}
	return p, s.change(ctx, l.again, append(args, k.row()...)...)
}

// goOn judges a row that is there.
func (g *migration) goOn(found *entry) (point, error) {
	switch {
	case found.status == statusDone && found.hash == g.key.hash:
		return point{}, &alreadyApplied{found}
	case found.status == statusDone:
		return point{}, scheduler.BadInput("version %s of this task was applied to database %q with another text (by run %d, %s): "+
			"a version is applied once, so put the change into a new one", g.run.Version, g.target.name, found.run, found.at)
	}
	changed := found.applied > len(g.statements) || hashOf(g.statements, min(found.applied, len(g.statements))) != found.appliedHash
	if changed {
		return point{sent: -1}, g.ask(found, "the text of what was applied is another now", "all its statements run again")
	}
	for i := range g.statements[:found.applied] {
		if keeps := g.statements[i].keeps; keeps != "" {
			return point{sent: -1}, g.ask(found, fmt.Sprintf("statement %d made %s, which went with its session", i+1, keeps), "all its statements run again")
		}
	}
	p := point{from: found.applied, sent: found.begun - 1}
	if err := g.askOfReaders(found); err != nil {
		return p, err
	}
	if err := g.askOfVariables(found); err != nil {
		return p, err
	}
	if p.sent < 0 {
		return p, nil
	}
	if p.sent >= len(g.statements) {
		return p, g.ask(found, "the text ends before the statement that was sent last", "it goes on without that one")
	}
	sent := &g.statements[p.sent]
	switch {
	case found.hash != g.key.hash:
		return p, g.ask(found, fmt.Sprintf("statement %d was sent, whether it took effect is unknown, and the text is another now", found.begun), "it goes on with that statement")
	case len(sent.tells) == 0 && !sent.harmless:
		return p, g.ask(found, fmt.Sprintf("statement %d was sent, and %s can't tell whether it took effect", found.begun, g.target.engine.kind()), "it goes on with that statement")
	}
	p.doubt = len(sent.tells) > 0
	return p, nil
}

// askOfReaders asks where a statement that is still to come reads what one that is applied may have left in its session.
func (g *migration) askOfReaders(found *entry) error {
	for i := found.applied; found.applied > 0 && i < len(g.statements); i++ {
		if reads := g.statements[i].reads; reads != "" {
			return g.ask(found, fmt.Sprintf("statement %d reads %s, which went with the session", i+1, reads), "it goes on behind what is applied")
		}
	}
	return nil
}

// ask leaves the decision to a person: nil where one has made it.
func (g *migration) ask(found *entry, why, then string) error {
	if g.run.Manual {
		return nil
	}
	return &scheduler.Failure{
		Code: scheduler.CodeError,
		Detail: fmt.Sprintf("version %s was applied in part to database %q: run %d began it (%s) and did not finish; %s. "+
			"Look at the database, then retry this run: %s", g.run.Version, g.target.name, found.run, found.at, why, then),
	}
}

// separately applies the version statement by statement, and counts them.
func (g *migration) separately(ctx context.Context, s *session) error {
	p, err := g.take(ctx, s)
	if err == nil {
		err = g.rest(ctx, s, p)
	}
	if err == nil {
		return g.finish(ctx, s)
	}
	g.remove(ctx, s)
	return err
}

// rest executes the statements from p on.
func (g *migration) rest(ctx context.Context, s *session, p point) error {
	open := false
	for i := range g.statements {
		statement := &g.statements[i]
		if i < p.from && !statement.session {
			continue
		}
		var err error
		switch {
		case statement.mayCommit(open):
			// Counted by the transaction that it commits.
			if err = g.count(ctx, s, i); err == nil {
				err = g.one(ctx, s, i, "")
			}
		case statement.session:
			err = g.one(ctx, s, i, "") // counted with the next one: it is sent again by whoever goes on
		case open && !statement.commits:
			err = g.within(ctx, s, i)
		case statement.commits || statement.opaque:
			err = g.alone(ctx, s, i, p.doubt && i == p.sent)
		case statement.control != controlNone || statement.nests || statement.keeps != "" && statement.keeps != aVariable:
			if err = g.one(ctx, s, i, ""); err == nil {
				err = g.count(ctx, s, i)
			}
		default:
			err = g.counted(ctx, s, i)
		}
		if err == nil {
			open, err = g.openBehind(ctx, s, i, open)
		}
		if err != nil {
			return err
		}
	}
	return g.ended(ctx, s, open)
}

// mayCommit is true for a statement of control that commits the transaction that is open, if it does anything to it.
func (s *statement) mayCommit(open bool) bool {
	return s.nests && open || s.control == controlEnds && s.word(0) != "ROLLBACK"
}

// within executes a statement in a transaction of the text's own, with its count.
func (g *migration) within(ctx context.Context, s *session, i int) error {
	if g.statements[i].opaque {
		// It may commit.
		if err := g.mark(ctx, s, i); err != nil {
			return err
		}
	}
	if err := g.one(ctx, s, i, ""); err != nil {
		return err
	}
	return g.count(ctx, s, i)
}

// counted executes a statement in a transaction with its count.
func (g *migration) counted(ctx context.Context, s *session, i int) error {
	if err := s.engine.begin(ctx, s); err != nil {
		return fmt.Errorf("begin the transaction of statement %d: %w", i+1, err)
	}
	if err := g.one(ctx, s, i, ""); err != nil {
		return err
	}
	if err := g.count(ctx, s, i); err != nil {
		return err
	}
	if _, err := s.do(ctx, "COMMIT"); err != nil {
		return &statementError{index: i, err: fmt.Errorf("COMMIT: %w", err)}
	}
	return nil
}

// alone executes a statement that commits by itself. doubt: an earlier attempt sent it.
func (g *migration) alone(ctx context.Context, s *session, i int, doubt bool) error {
	l, statement := s.engine.ledger(g.target), &g.statements[i]
	if err := s.change(ctx, l.mark, append(append([]any{i + 1}, g.key.row()...), g.key.run)...); err != nil {
		return err
	}
	err := g.one(ctx, s, i, "")
	if err == nil {
		// Also where the run has just been canceled: what took effect is known to have.
		settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
		defer cancel()
		return g.count(settle, s, i)
	}
	r := s.engine.read(err)
	if doubt && r != nil && r.tells(statement) {
		g.log.say(ctx, fmt.Sprintf("statement %d took effect in an earlier attempt, which didn't hear of it", i+1))
		if err := g.one(ctx, s, i, r.text); err != nil {
			return err
		}
		return g.count(ctx, s, i)
	}
	stopped, _ := errors.AsType[*stoppedError](err)
	refused := r != nil && !r.fatal || stopped != nil && (stopped.refused || !stopped.sent)
	if refused && !statement.opaque && !doubt {
		// It was undone as a whole. Where this can't be written, the mark stays, which is the safe side.
		settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
		defer cancel()
		_ = s.change(settle, l.mark, append(append([]any{nil}, g.key.row()...), g.key.run)...)
	}
	return err
}

// count says that the statements up to the i-th are applied.
func (g *migration) count(ctx context.Context, s *session, i int) error {
	args := append([]any{i + 1, hashOf(g.statements, i+1), nil}, g.key.row()...)
	return s.change(ctx, s.engine.ledger(g.target).count, append(args, g.key.run)...)
}

// mark says within a transaction that the statements before the i-th are applied and that the i-th was sent: what holds if it commits.
func (g *migration) mark(ctx context.Context, s *session, i int) error {
	args := append([]any{i, hashOf(g.statements, i), i + 1}, g.key.row()...)
	return s.change(ctx, s.engine.ledger(g.target).count, append(args, g.key.run)...)
}

// finish marks the row DONE.
func (g *migration) finish(ctx context.Context, s *session) error {
	args := append(g.key.row(), g.key.run)
	err := s.change(ctx, s.engine.ledger(g.target).done, args...)
	if err == nil || g.transaction {
		return err
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	err = g.target.fresh(settle, s.label+" ledger", func(ctx context.Context, other *session) error {
		return other.change(ctx, other.engine.ledger(g.target).done, args...)
	})
	if err != nil {
		return &scheduler.Failure{
			Code:      scheduler.CodeError,
			Detail:    fmt.Sprintf("all statements were executed, but the ledger could not be marked DONE (%s): a retry does that", g.brief(err)),
			Retryable: true,
		}
	}
	return nil
}

// remove takes back a row that was written for nothing. One that stays does no harm: the next attempt begins with the first statement.
func (g *migration) remove(ctx context.Context, s *session) {
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if s.lost {
		return
	}
	_, _ = s.conn.ExecContext(settle, "ROLLBACK")
	_, _ = s.conn.ExecContext(settle, s.engine.ledger(g.target).remove, append(g.key.row(), g.key.run)...)
}
