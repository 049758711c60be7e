package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// recoveryTimeout is the statement_timeout of a task's recovery function.
	recoveryTimeout = 5 * time.Second
	// recoveryLease is for how long a call that was begun is left to who began it.
	recoveryLease = 30 * time.Second
	// maxRecoveryTries is how many calls may take their connection along before the function is given up.
	maxRecoveryTries = 5
)

// Recovery is one call of the function that a lost run's task names in on_stale.
type Recovery struct {
	RunID    int64
	Function string // schema.name
	// Failed is what went wrong with the function, "": nothing. It stands in the run's detail.
	Failed string
}

// CallRecovery calls one function that is due, if there is any, in a transaction of its own with a statement_timeout
// of 5 s. What the function wrote is committed together with the end of its entry in recovery_call, so that a crash at
// any point leaves either both or none. nil: nothing is due, or another replica is at it.
func (s *Store) CallRecovery(ctx context.Context) (*Recovery, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("call recovery function: %w", err)
	}
	defer conn.Release()
	r, tries, err := beginRecovery(ctx, conn)
	if r == nil || err != nil {
		return nil, err
	}
	// What the function sets in its session must not outlive it there: the pool makes another connection.
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Conn().Close(end) // it is gone either way
	}()
	err = pgx.BeginTxFunc(ctx, conn, s.pool.transaction(pgx.TxOptions{}), func(tx pgx.Tx) error { return callRecovery(ctx, tx, r, tries) })
	if errors.Is(err, errNotMine) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("call recovery function: %w", err)
	}
	return r, nil
}

var errNotMine = errors.New("the call was made by somebody else")

// beginRecovery takes an entry and counts the try, before anything can go wrong with it.
func beginRecovery(ctx context.Context, conn *pgxpool.Conn) (*Recovery, int, error) {
	const q = `-- begin_recovery
UPDATE rowrun.recovery_call c SET tries = c.tries + 1, not_before = clock_timestamp() + make_interval(secs => $1)
WHERE c.run_id = (SELECT d.run_id FROM rowrun.recovery_call d WHERE d.not_before <= clock_timestamp()
                  ORDER BY d.run_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING c.run_id, c.function, c.tries`
	r, tries := &Recovery{}, 0
	err := conn.QueryRow(ctx, q, seconds(recoveryLease)).Scan(&r.RunID, &r.Function, &tries)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("begin recovery: %w", err)
	}
	return r, tries, nil
}

func callRecovery(ctx context.Context, tx pgx.Tx, r *Recovery, tries int) error {
	const prepare = `-- prepare_recovery
SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true),
       set_config('enable_seqscan', 'on', true)`
	const end = `-- end_recovery
DELETE FROM rowrun.recovery_call WHERE run_id = $1 AND tries = $2`
	const find = `-- recovery_function
SELECT f.call, f.safe FROM rowrun.recovery_function($1) f`
	const blame = `-- blame_recovery
UPDATE rowrun.task_run SET result = result || jsonb_build_object('detail',
    left(coalesce(result ->> 'detail', ''), 100000) || ' (on_stale: ' || $2::text || ')')
WHERE id = $1 AND status = 'FAILED'`
	if _, err := tx.Exec(ctx, prepare, fmt.Sprintf("%dms", recoveryTimeout.Milliseconds())); err != nil {
		return err
	}
	// First, so that its row is locked while the function runs.
	tag, err := tx.Exec(ctx, end, r.RunID, tries)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return errNotMine
	}
	var call string
	var safe bool
	err = tx.QueryRow(ctx, find, r.Function).Scan(&call, &safe)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		r.Failed = "function " + r.Function + " does not exist"
	case err != nil:
		return err
	case !safe:
		r.Failed = "function " + r.Function + " is not SECURITY DEFINER: it would run with the sidecar's rights"
	case tries > maxRecoveryTries:
		r.Failed = fmt.Sprintf("function %s was given up after %d calls that took their connection along", r.Function, maxRecoveryTries)
	default:
		err = pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
			_, err := inner.Exec(ctx, call, pgx.QueryExecModeExec, r.RunID)
			return err
		})
		var server *pgconn.PgError
		if errors.As(err, &server) && tx.Conn().PgConn().TxStatus() == 'T' {
			r.Failed = server.Message + " (SQLSTATE " + server.Code + ")"
		} else if err != nil {
			return err // the connection is gone: the try was counted
		}
	}
	if r.Failed != "" {
		_, err = tx.Exec(ctx, blame, r.RunID, r.Failed)
		return err
	}
	return nil
}
