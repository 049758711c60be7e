package sqlexec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/scheduler"
)

// lockEvery is how often an attempt looks whether another one of the same
// version has ended. It does not wait inside a statement: CREATE INDEX
// CONCURRENTLY waits for the snapshots of such statements, and both would wait for ever.
const lockEvery = 500 * time.Millisecond

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

func (e *alreadyApplied) Error() string { return "applied already by run " + e.entry.run }

// Execute runs a DATABASE_MIGRATE task. Failures may be retried, but for BAD_INPUT,
// a version that was applied with another text, and one that an automatic attempt
// finds begun.
func (m *Migrator) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	j, err := m.sql.job(run)
	if err != nil {
		return scheduler.Result{}, err
	}
	if run.Version == "" {
		return scheduler.Result{}, scheduler.BadInput("the task has no version: DATABASE_MIGRATE needs one, such as 1.2")
	}
	j.params = nil // what is applied is the text that the ledger knows
	hash := sha256.Sum256([]byte(j.text))
	g := &migration{job: j, key: ledgerKey{
		deployment: *m.sql.deployment.Load(),
		task:       strconv.FormatInt(run.TaskID, 10),
		version:    normalVersion(run.Version),
		hash:       hex.EncodeToString(hash[:]),
		run:        strconv.FormatInt(run.ID, 10),
	}}
	err = j.onTarget(ctx, func(s *session) error {
		if err := s.createLedger(ctx); err != nil {
			return err
		}
		if j.transaction {
			return g.together(ctx, s)
		}
		return g.separately(ctx, s)
	})
	var already *alreadyApplied
	switch {
	case errors.As(err, &already):
		return scheduler.Result{Output: map[string]any{
			"code": "ALREADY_APPLIED", "applied_by_run": json.Number(already.entry.run), "statements": 0, "rows_affected": 0,
		}}, nil
	case err != nil:
		return scheduler.Result{}, j.fail(ctx, err)
	}
	output := j.output()
	output["ledger"] = "APPLIED"
	return scheduler.Result{Output: output}, nil
}

// together applies the version in one transaction, the ledger's row in it.
func (g *migration) together(ctx context.Context, s *session) error {
	// At a stricter level a row of another attempt would be an error instead of an answer.
	if _, err := s.exec(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED"); err != nil {
		return fmt.Errorf("begin the transaction: %w", err)
	}
	if _, err := g.take(ctx, s, statusDone); err != nil {
		return err
	}
	if err := s.limit(ctx); err != nil {
		return err
	}
	if err := s.handOver(ctx); err != nil {
		return err
	}
	if err := g.each(ctx, s); err != nil {
		return err
	}
	return g.commit(ctx, s, func(ctx context.Context) (bool, error) {
		if err := s.gone(ctx); err != nil {
			return false, err
		}
		var found *entry
		err := g.target.fresh(ctx, s.name+" ledger", func(ctx context.Context, other *session) error {
			var err error
			found, err = other.read(ctx, &g.key)
			return err
		})
		return found != nil && found.status == statusDone && found.run == g.key.run, err
	})
}

// take writes the ledger's row, or says why the statements must not run. first is
// false where an earlier attempt had begun.
func (g *migration) take(ctx context.Context, s *session, status string) (first bool, err error) {
	found, err := s.record(ctx, &g.key, status)
	if err != nil || found == nil {
		return err == nil, err
	}
	switch {
	case found.status == statusDone && found.hash == g.key.hash:
		return false, &alreadyApplied{found}
	case found.status == statusDone:
		return false, &scheduler.Failure{
			Code: scheduler.CodeBadInput,
			Detail: fmt.Sprintf("version %s of this task was applied to database %q with another text (by run %s, %s): "+
				"a version is applied once, so put the change into a new one", g.run.Version, g.target.name, found.run, found.at),
		}
	case !g.run.Manual:
		return false, &scheduler.Failure{
			Code: scheduler.CodeError,
			Detail: fmt.Sprintf("version %s may have been applied in part to database %q: run %s began it (%s) and did not finish. "+
				"Look at the database, then retry this run: all its statements run again", g.run.Version, g.target.name, found.run, found.at),
		}
	}
	return false, s.again(ctx, &g.key, status)
}

// separately applies the version statement by statement.
func (g *migration) separately(ctx context.Context, s *session) error {
	if err := g.lock(ctx, s); err != nil {
		return err
	}
	first, err := g.take(ctx, s, statusStarted)
	switch {
	case err != nil && s.conn.IsClosed():
		// Its answer was lost: if the row was written, nothing but the row was.
		return g.undo(ctx, s, err)
	case err != nil:
		return err
	}
	unbegun := true
	if err = s.limit(ctx); err == nil {
		err = s.handOver(ctx)
	}
	if err == nil {
		err = g.job.separately(ctx, s)
		unbegun = g.unbegun(err)
	}
	switch {
	case err == nil:
		return g.finish(ctx)
	case first && unbegun:
		return g.undo(ctx, s, err)
	}
	return err
}

// lock waits until no other session applies the same version. The lock lasts as
// long as the session that executes the statements.
func (g *migration) lock(ctx context.Context, s *session) error {
	name := g.key.deployment + " " + g.key.task + " " + g.key.version
	for {
		rows, err := s.query(ctx, versionTryLock, name)
		if err != nil {
			return fmt.Errorf("lock the version: %w", err)
		}
		if rows[0][0] == "t" {
			s.locked = true
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another session that applies the same version: %w", context.Cause(ctx))
		case <-time.After(lockEvery):
		}
	}
}

// unbegun is true where the statements have had no effect: none was sent, or the
// first was refused.
func (g *migration) unbegun(err error) bool {
	var failed *statementError
	if !errors.As(err, &failed) || failed.index > 0 {
		return false
	}
	var stopped *stoppedError
	if errors.As(failed.err, &stopped) {
		return !stopped.sent
	}
	return g.statements[0].refused(failed.err)
}

// undo removes a row that was written for nothing. It returns why, with a word
// to the user where the row could not be removed.
func (g *migration) undo(ctx context.Context, s *session, why error) error {
	settle, cancel := settleContext(ctx)
	defer cancel()
	var err error
	if s.conn.IsClosed() {
		err = s.gone(settle)
	}
	if err == nil {
		err = g.target.fresh(settle, s.name+" ledger", func(ctx context.Context, other *session) error {
			_, err := other.query(ctx, ledgerRemove, g.key.row(g.key.run)...)
			return err
		})
	}
	if err == nil {
		return why
	}
	f := *g.failure(why)
	f.Detail += "; nothing was executed, but the ledger may still say STARTED: retry the run by hand"
	return &f
}

// finish marks the row DONE, on a connection that no statement has changed the role of.
func (g *migration) finish(ctx context.Context) error {
	settle, cancel := settleContext(ctx)
	defer cancel()
	var rows [][]string
	err := g.target.fresh(settle, "rowrun:"+g.key.run+" ledger", func(ctx context.Context, other *session) error {
		var err error
		rows, err = other.query(ctx, ledgerDone, g.key.row(g.key.run)...)
		return err
	})
	if err == nil && len(rows) == 0 {
		err = errors.New("its row was removed")
	}
	if err != nil {
		return &scheduler.Failure{
			Code: scheduler.CodeError,
			Detail: fmt.Sprintf("all statements were executed, but the ledger could not be marked DONE (%s): "+
				"look at the database before you retry, since all statements run again", brief(err)),
		}
	}
	return nil
}
