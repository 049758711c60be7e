package sqlexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The ledger stands in each target: one row per deployment, task and version.
//
//	no row ──▶ DONE                 with a transaction: in the same one as the statements
//	no row ──▶ STARTED ──▶ DONE     without: before the first, after the last statement
//	STARTED ──▶ no row              the first statement had no effect
//	STARTED ──▶ STARTED or DONE     an attempt that a person asked for
//
// In a transaction the row is written first: whoever comes second waits on its key.
const (
	ledgerExists = `-- rowrun_ledger_exists
SELECT pg_catalog.to_regclass('rowrun_migration.ledger') IS NOT NULL`

	ledgerLock = `-- rowrun_ledger_lock
SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowrun_migration', 0))`

	ledgerSchema = `-- rowrun_ledger_schema
CREATE SCHEMA IF NOT EXISTS rowrun_migration`

	ledgerTable = `-- rowrun_ledger_table
CREATE TABLE IF NOT EXISTS rowrun_migration.ledger (
    deployment  uuid NOT NULL,
    task_id     bigint NOT NULL,
    version     text NOT NULL,
    sha256      text NOT NULL,
    status      text NOT NULL CHECK (status IN ('STARTED', 'DONE')),
    run_id      bigint NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT pg_catalog.now(),
    finished_at timestamptz,
    PRIMARY KEY (deployment, task_id, version)
)`

	ledgerComment = `-- rowrun_ledger_comment
COMMENT ON TABLE rowrun_migration.ledger IS
    'Which versions of which DATABASE_MIGRATE tasks of Rowrun this database has. Rows are the memory that keeps a migration from running twice.'`

	ledgerInsert = `-- rowrun_ledger_insert
INSERT INTO rowrun_migration.ledger (deployment, task_id, version, sha256, run_id, status, finished_at)
VALUES ($1::uuid, $2::bigint, $3::text, $4::text, $5::bigint, $6::text,
        CASE WHEN $6::text = 'DONE' THEN pg_catalog.now() END)
ON CONFLICT (deployment, task_id, version) DO NOTHING
RETURNING status`

	ledgerRead = `-- rowrun_ledger_read
SELECT status, sha256, run_id, coalesce(finished_at, started_at)::text
  FROM rowrun_migration.ledger
 WHERE deployment = $1::uuid AND task_id = $2::bigint AND version = $3::text`

	ledgerAgain = `-- rowrun_ledger_again
UPDATE rowrun_migration.ledger
   SET sha256 = $4::text, run_id = $5::bigint, status = $6::text, started_at = pg_catalog.now(),
       finished_at = CASE WHEN $6::text = 'DONE' THEN pg_catalog.now() END
 WHERE deployment = $1::uuid AND task_id = $2::bigint AND version = $3::text AND status = 'STARTED'
RETURNING status`

	ledgerDone = `-- rowrun_ledger_done
UPDATE rowrun_migration.ledger
   SET status = 'DONE', finished_at = pg_catalog.now()
 WHERE deployment = $1::uuid AND task_id = $2::bigint AND version = $3::text AND run_id = $4::bigint
RETURNING status`

	ledgerRemove = `-- rowrun_ledger_remove
DELETE FROM rowrun_migration.ledger
 WHERE deployment = $1::uuid AND task_id = $2::bigint AND version = $3::text AND run_id = $4::bigint AND status = 'STARTED'`

	versionTryLock = `-- rowrun_version_lock
SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended('rowrun_migration ' || $1::text, 0))`
)

const (
	statusStarted = "STARTED"
	statusDone    = "DONE"
)

// ledgerKey names a row of the ledger, and the run and text that want it.
type ledgerKey struct {
	deployment, task, version string
	hash, run                 string
}

func (k *ledgerKey) row(more ...string) []string {
	return append([]string{k.deployment, k.task, k.version}, more...)
}

// entry is a row of the ledger.
type entry struct{ status, hash, run, at string }

// createLedger makes sure that the target has its ledger, with many at once, and that it is nobody else's.
func (s *session) createLedger(ctx context.Context) error {
	rows, err := s.query(ctx, ledgerExists)
	if err != nil {
		return fmt.Errorf("look for the ledger rowrun_migration.ledger: %w", err)
	}
	if rows[0][0] == "t" {
		return s.trustLedger(ctx)
	}
	for _, sql := range []string{"BEGIN", ledgerLock, ledgerSchema, ledgerTable, ledgerComment, ledgerPrivate, "COMMIT"} {
		if _, err := s.exec(ctx, sql); err != nil {
			return fmt.Errorf("create the ledger rowrun_migration.ledger: %w", err)
		}
	}
	return s.trustLedger(ctx)
}

// record writes the row with a status. Where it exists already, that one is
// returned and left as it is. It waits for a transaction that is writing the row.
func (s *session) record(ctx context.Context, k *ledgerKey, status string) (*entry, error) {
	// A row that is in the way of the INSERT may be removed before it is read.
	for range 10 {
		inserted, err := s.wait(ctx, ledgerInsert, k.row(k.hash, k.run, status)...)
		if err != nil {
			return nil, fmt.Errorf("write the ledger: %w", err)
		}
		if len(inserted) == 1 {
			return nil, nil
		}
		found, err := s.read(ctx, k)
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, errors.New("write the ledger: others write and remove the same row")
}

func (s *session) read(ctx context.Context, k *ledgerKey) (*entry, error) {
	rows, err := s.query(ctx, ledgerRead, k.row()...)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &entry{status: rows[0][0], hash: rows[0][1], run: rows[0][2], at: rows[0][3]}, nil
}

// again takes over a row that an earlier attempt left STARTED.
func (s *session) again(ctx context.Context, k *ledgerKey, status string) error {
	rows, err := s.wait(ctx, ledgerAgain, k.row(k.hash, k.run, status)...)
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	if len(rows) == 0 {
		return errors.New("write the ledger: another attempt was faster")
	}
	return nil
}

// wait is query for a statement that may wait for a lock, and is then ended on the server.
func (s *session) wait(ctx context.Context, sql string, args ...string) ([][]string, error) {
	var rows [][]string
	err := s.guard(ctx, func(ctx context.Context) error {
		var err error
		rows, err = s.query(ctx, sql, args...)
		return err
	})
	return rows, err
}

// normalVersion gives equal versions one spelling: 1.0 and 01 are 1.
func normalVersion(version string) string {
	parts := strings.Split(version, ".")
	for i, part := range parts {
		parts[i] = strings.TrimLeft(part, "0")
		if parts[i] == "" {
			parts[i] = "0"
		}
	}
	for len(parts) > 1 && parts[len(parts)-1] == "0" {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ".")
}
