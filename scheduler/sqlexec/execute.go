package sqlexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/scheduler"
)

const currentTransaction = `-- rowrun_current_transaction
SELECT pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text`

const transactionStatus = `-- rowrun_transaction_status
SELECT pg_catalog.pg_xact_status($1::xid8),
       extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text`

// Execute runs an SQL task. Its failures carry the SQLSTATE as code and may be
// retried, but for BAD_INPUT.
func (x *Executor) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	j, err := x.job(run)
	if err != nil {
		return scheduler.Result{}, err
	}
	err = j.onTarget(ctx, func(s *session) error {
		if err := s.limit(ctx); err != nil {
			return err
		}
		if err := s.handOver(ctx); err != nil {
			return err
		}
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

// onTarget calls work with the session that the run's statements go through.
// When it returns, nothing runs and no lock is held on the target.
func (j *job) onTarget(ctx context.Context, work func(*session) error) error {
	j.log.shown = time.Now()
	s, err := j.target.open(ctx, fmt.Sprintf("rowrun:%d", j.run.ID), j.log.notice)
	if err != nil {
		return err
	}
	defer s.leave(ctx)
	return work(s)
}

func (j *job) output() map[string]any {
	return map[string]any{"statements": len(j.statements), "rows_affected": j.changed}
}

// together runs all statements in one transaction.
func (j *job) together(ctx context.Context, s *session) error {
	if _, err := s.exec(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("begin the transaction: %w", err)
	}
	if err := j.each(ctx, s); err != nil {
		return err
	}
	rows, err := s.query(ctx, currentTransaction)
	if err != nil {
		return fmt.Errorf("ask for the transaction's id: %w", err)
	}
	return j.commit(ctx, s, func(ctx context.Context) (bool, error) {
		return s.committed(ctx, rows[0][0])
	})
}

// separately runs each statement by itself. Transactions are the text's own affair,
// but it has to end them.
func (j *job) separately(ctx context.Context, s *session) error {
	if err := j.each(ctx, s); err != nil {
		return err
	}
	if s.inTransaction() {
		return &scheduler.Failure{
			Code:      scheduler.CodeError,
			Detail:    "the statements ended inside a transaction, which was rolled back: end it with COMMIT",
			Retryable: true,
		}
	}
	return nil
}

// each sends the statements, one at a time.
func (j *job) each(ctx context.Context, s *session) error {
	for i := range j.statements {
		statement := &j.statements[i]
		if i > 0 {
			j.log.progress(ctx, i+1, len(j.statements))
		}
		start := time.Now()
		tag, err := s.execWith(ctx, statement.text, j.params)
		j.log.flush(ctx)
		if err == nil && j.transaction && s.conn.TxStatus() != 'T' {
			err = errEndedTransaction
		}
		if err != nil {
			return &statementError{index: i, err: err}
		}
		if tag.Insert() || tag.Update() || tag.Delete() || isMergeOrCopy(tag) {
			j.changed += tag.RowsAffected()
		}
		j.log.add(ctx, "statement", statementRow{
			Index: i + 1, Of: len(j.statements), Line: statement.place.line,
			SQL: statement.shown(maxLoggedSQL), Tag: tag.String(), RowsAffected: tag.RowsAffected(),
			DurationMS: float64(time.Since(start).Microseconds()) / 1000,
		})
	}
	return nil
}

func isMergeOrCopy(tag pgconn.CommandTag) bool {
	text := tag.String()
	return len(text) > 5 && (text[:5] == "MERGE" || text[:4] == "COPY")
}

// commit ends the transaction. Where the answer is lost, committed finds out what it was.
func (j *job) commit(ctx context.Context, s *session, committed func(context.Context) (bool, error)) error {
	tag, err := s.exec(ctx, "COMMIT")
	var (
		server  *pgconn.PgError
		stopped *stoppedError
	)
	switch {
	case err == nil && tag.String() == "COMMIT":
		j.log.flush(ctx)
		return nil
	case err == nil:
		return errors.New("COMMIT: the server rolled the transaction back")
	case errors.As(err, &stopped) && !stopped.sent:
		return fmt.Errorf("COMMIT: %w", err)
	case errors.As(err, &server) && !isFatal(server):
		return fmt.Errorf("COMMIT: %w", err)
	}
	settle, cancel := settleContext(ctx)
	defer cancel()
	done, unsettled := committed(settle)
	switch {
	case unsettled != nil:
		return &scheduler.Failure{
			Code: unknownOutcome,
			Detail: fmt.Sprintf("COMMIT: the answer was lost (%s) and could not be found out (%s): "+
				"it is unknown whether the statements took effect", brief(err), brief(unsettled)),
			Retryable: true,
		}
	case !done:
		return fmt.Errorf("COMMIT: the connection was lost and the transaction was rolled back: %w", err)
	}
	return nil
}

// committed finds out, after the session was lost, whether a transaction of it was committed.
func (s *session) committed(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, errors.New("the transaction wrote nothing that could be looked for")
	}
	if err := s.gone(ctx); err != nil {
		return false, err
	}
	var rows [][]string
	err := s.target.fresh(ctx, s.name+" end", func(ctx context.Context, other *session) error {
		var err error
		rows, err = other.query(ctx, transactionStatus, id)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case rows[0][1] != s.serverStart:
		// Another server, or this one after a crash, may give the same id to another transaction.
		return false, errors.New("the server was restarted")
	}
	return rows[0][0] == "committed", nil
}
