package migrations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	pinned "github.com/rowrun/rowrun/store/session"
)

// Status is where a database stands.
type Status struct {
	Version int  // newest applied table step, 0: none
	Latest  int  // newest that this binary knows
	Dirty   bool // one was interrupted; the next Up or Down settles it
	Applied []Applied
	Code    Code // what the database has; none where table steps are missing
	Known   Code // what this binary brings
}

// Current says that there is nothing to do: everything that this binary knows
// is applied, and nothing was interrupted.
func (s Status) Current() bool { return !s.Dirty && s.Version >= s.Latest && s.CodeCurrent() }

// CodeCurrent says that the code of the database is this binary's, or a newer release's.
func (s Status) CodeCurrent() bool {
	return s.Code.Hash == s.Known.Hash && s.Code.Release == s.Known.Release || s.Code.Release > s.Known.Release ||
		s.Version > s.Latest && s.Code.Hash != ""
}

// Applied is a table step that was committed.
type Applied struct {
	Version int
	Name    string // empty where this binary doesn't know it
	At      time.Time
}

// statusTimeout bounds a look at the tables.
const statusTimeout = 30 * time.Second

// ReadStatus looks and changes nothing; it also works on a standby and without
// the lock, so it may see a migration under way as Dirty.
func ReadStatus(ctx context.Context, config Config) (Status, error) {
	config, err := config.withDefaults()
	if err != nil {
		return Status{}, fmt.Errorf("migrate status: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, fmt.Errorf("no answer within %s: %w", statusTimeout, context.DeadlineExceeded))
	defer cancel()
	status, err := readStatus(ctx, config)
	if err != nil {
		return Status{}, fmt.Errorf("migrate status: %w", explain(ctx, err))
	}
	return status, nil
}

func readStatus(ctx context.Context, config Config) (Status, error) {
	files, err := readFiles(config.FS)
	if err != nil {
		return Status{}, err
	}
	connConfig, err := pgx.ParseConfig(config.URL)
	if err != nil {
		return Status{}, errors.New("not a connection string")
	}
	pinned.Pin(connConfig)
	conn, err := pgx.ConnectConfig(ctx, connConfig)
	if err != nil {
		return Status{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	status := Status{Latest: files.latest(), Known: Code{Release: files.code.releaseNumber(), Hash: files.code.hash()}}
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return status.read(ctx, tx, files)
	})
	return status, err
}

func (s *Status) read(ctx context.Context, tx pgx.Tx, files *files) error {
	if err := refuseOldNumbering(ctx, tx); err != nil {
		return err
	}
	var flags, record bool
	// Replicas and viewers may read the record, not golang-migrate's flag.
	const tables = `
SELECT coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('rowrun.schema_migrations'), 'SELECT'), false),
       pg_catalog.to_regclass('rowrun.migration') IS NOT NULL`
	if err := tx.QueryRow(ctx, tables).Scan(&flags, &record); err != nil {
		return fmt.Errorf("look for the tables: %w", err)
	}
	if flags {
		err := tx.QueryRow(ctx, "SELECT greatest(version, 0), dirty FROM rowrun.schema_migrations LIMIT 1").Scan(&s.Version, &s.Dirty)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read rowrun.schema_migrations: %w", err)
		}
	}
	if !record {
		return nil
	}
	rows, err := tx.Query(ctx, "SELECT version, applied_at FROM rowrun.migration ORDER BY version")
	if err != nil {
		return fmt.Errorf("read rowrun.migration: %w", err)
	}
	s.Applied, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Applied, error) {
		var a Applied
		err := row.Scan(&a.Version, &a.At)
		a.Name = files.name(a.Version)
		return a, err
	})
	if err != nil {
		return fmt.Errorf("read rowrun.migration: %w", err)
	}
	if !flags && len(s.Applied) > 0 {
		s.Version = s.Applied[len(s.Applied)-1].Version
	}
	if s.Code, err = readCodeVersion(ctx, tx); err != nil {
		return fmt.Errorf("read rowrun.code_version: %w", err)
	}
	return nil
}
