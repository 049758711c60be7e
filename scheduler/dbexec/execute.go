package dbexec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/scheduler"
)

// Execute runs an SQL task.
func (x *Executor) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	j, err := x.job(run, false)
	if err != nil {
		return scheduler.Result{}, err
	}
	// What an earlier attempt of this job left behind is ended: its run is over, and this one begins anew.
	err = j.onTarget(ctx, lockName(j.deployment, "job", strconv.FormatInt(run.RootID, 10)), true, func(s *session) error {
		if j.transaction {
			return j.together(ctx, s)
		}
		return j.separately(ctx, s)
	})
	if err != nil {
		return scheduler.Result{}, j.fail(ctx, err)
	}
	return scheduler.Result{Output: j.output()}, nil
}

// lockName is the name by which a later attempt finds the session of an earlier one: at most 64 characters.
func lockName(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d %s ", len(part), part)
	}
	return "rowrun " + hex.EncodeToString(sum.Sum(nil))[:32]
}

// onTarget calls work with the session that the run's statements go through. When it returns, nothing of it runs on the target.
func (j *job) onTarget(ctx context.Context, lock string, kill bool, work func(*session) error) error {
	j.log.shown = time.Now()
	s, err := j.target.open(ctx, fmt.Sprintf("rowrun:%d", j.run.ID))
	if err != nil {
		return err
	}
	defer s.leave(ctx)
	say := func(what string) { j.log.say(ctx, what) }
	if err := s.engine.alone(ctx, s, lock, kill, say); err != nil {
		return err
	}
	if err := s.engine.limit(ctx, s); err != nil {
		return fmt.Errorf("set the timeouts: %w", err)
	}
	return work(s)
}

func (j *job) output() map[string]any {
	out := map[string]any{"statements": len(j.statements) - j.skipped, "rows_affected": j.changed}
	if j.skipped > 0 {
		out["applied_before"] = j.skipped
	}
	return out
}

// together runs all statements in one transaction.
func (j *job) together(ctx context.Context, s *session) error {
	if err := s.engine.begin(ctx, s); err != nil {
		return fmt.Errorf("begin the transaction: %w", err)
	}
	for i := range j.statements {
		if err := j.inTransaction(ctx, s, i); err != nil {
			return err
		}
	}
	if err := j.lasted(ctx, s); err != nil {
		return err
	}
	return j.commit(ctx, s, func(context.Context) (bool, error) {
		return false, errors.New("nothing in the database tells")
	})
}

// inTransaction executes a statement, and makes sure that the transaction goes on behind one whose text doesn't tell.
func (j *job) inTransaction(ctx context.Context, s *session, i int) error {
	if !j.statements[i].opaque {
		return j.one(ctx, s, i, "")
	}
	if err := s.engine.watch(ctx, s); err != nil {
		return &statementError{index: i, err: err}
	}
	if err := j.one(ctx, s, i, ""); err != nil {
		return err
	}
	lasts, err := s.engine.lasts(ctx, s)
	if err == nil && !lasts {
		err = errEndedTransaction
	}
	if err != nil {
		return &statementError{index: i, err: err}
	}
	return nil
}

// lasted makes sure that the transaction goes on behind the last statement.
func (j *job) lasted(ctx context.Context, s *session) error {
	open, err := s.engine.open(ctx, s, true)
	if err == nil && !open {
		err = fmt.Errorf("before COMMIT: %w", errEndedTransaction)
	}
	return err
}

// separately runs each statement by itself. Transactions are the text's own affair, but it has to end them.
func (j *job) separately(ctx context.Context, s *session) error {
	open := false
	for i := range j.statements {
		err := j.one(ctx, s, i, "")
		if err == nil {
			open, err = j.openBehind(ctx, s, i, open)
		}
		if err != nil {
			return err
		}
	}
	return j.ended(ctx, s, open)
}

// openBehind is true where a transaction of the text's own is open behind a statement that was executed.
func (j *job) openBehind(ctx context.Context, s *session, i int, before bool) (bool, error) {
	statement := &j.statements[i]
	said := statement.leavesOpen(before)
	if !statement.nests && (!statement.opaque || statement.commits) {
		return said, nil
	}
	// Also where the run has just been canceled: what the statement did is to be known.
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	open, err := s.engine.open(settle, s, said)
	if err != nil {
		return false, &statementError{index: i, err: err}
	}
	return open, nil
}

// ended makes sure that no transaction of the text's own is open behind its last statement. Where that can't be asked, the connection
// is lost, and what the statements say holds.
func (j *job) ended(ctx context.Context, s *session, said bool) error {
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	open, err := s.engine.open(settle, s, said)
	if err != nil {
		open = said
	}
	if open {
		return unended()
	}
	return nil
}

// leavesOpen says by the statement's words whether a transaction of the text's own is open behind it.
func (s *statement) leavesOpen(before bool) bool {
	switch {
	case s.control == controlBegins:
		return true
	case s.control == controlEnds, s.commits && !s.outside:
		return false
	}
	return before
}

func unended() error {
	return &scheduler.Failure{
		Code:      scheduler.CodeError,
		Detail:    "the statements ended inside a transaction, which was rolled back: end it with COMMIT",
		Retryable: true,
	}
}

// one executes a statement and logs it.
func (j *job) one(ctx context.Context, s *session, i int, recognized string) error {
	statement := &j.statements[i]
	if i > 0 {
		j.log.progress(ctx, i+1, len(j.statements))
	}
	start := time.Now()
	var rows int64
	if recognized == "" {
		var err error
		if rows, err = s.exec(ctx, statement); err != nil {
			return &statementError{index: i, err: err}
		}
		for _, row := range s.engine.notices(ctx, s) {
			j.log.notice(ctx, row)
		}
	}
	j.changed += rows
	j.log.add(ctx, "statement", statementRow{
		Index: i + 1, Of: len(j.statements), Line: statement.place.line,
		SQL: statement.shown(s.engine, maxLoggedSQL), Tag: statement.command(), RowsAffected: rows,
		DurationMS: float64(time.Since(start).Microseconds()) / 1000, Recognized: recognized,
	})
	return nil
}

// commit ends the transaction. Where the answer is lost, committed finds out what it was.
func (j *job) commit(ctx context.Context, s *session, committed func(context.Context) (bool, error)) error {
	_, err := s.do(ctx, "COMMIT")
	if err == nil {
		return nil
	}
	if stopped, ok := errors.AsType[*stoppedError](err); ok && !stopped.sent {
		return fmt.Errorf("COMMIT: %w", err)
	}
	if r := s.engine.read(err); r != nil && !r.fatal {
		return fmt.Errorf("COMMIT: %w", err)
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	unsettled := s.engine.gone(settle, s)
	done := false
	if unsettled == nil {
		done, unsettled = committed(settle)
	}
	switch {
	case unsettled != nil:
		return &scheduler.Failure{
			Code: unknownOutcome,
			Detail: fmt.Sprintf("COMMIT: the answer was lost (%s) and could not be found out (%s): "+
				"it is unknown whether the statements took effect", j.brief(err), j.brief(unsettled)),
			Retryable: true,
		}
	case !done:
		return fmt.Errorf("COMMIT: the connection was lost and the transaction was rolled back: %w", err)
	}
	return nil
}
