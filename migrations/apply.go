package migrations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
)

// tries is how often something is tried that another session's lock is in the way of.
const tries = 60

// settle returns the version that the database is at, 0 for none. Where the flag
// says that a migration was under way when its process died, what that
// migration's transaction recorded decides.
func (s *session) settle(ctx context.Context) (int, error) {
	version, dirty, err := s.driver.Version()
	if err != nil {
		return 0, fmt.Errorf("read rowrun.schema_migrations: %w", err)
	}
	if !dirty {
		return max(version, 0), nil
	}
	recorded, err := s.recorded(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.mark(ctx, recorded, false); err != nil {
		return 0, err
	}
	s.log.Warn().Int("interrupted", version).Int("version", recorded).Msg("settled an interrupted migration")
	return recorded, nil
}

// recorded is the newest version that was committed, 0 for none.
func (s *session) recorded(ctx context.Context) (int, error) {
	exists, err := s.hasRecord(ctx)
	if err != nil || !exists {
		return 0, err
	}
	var version int
	if err := s.conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM rowrun.migration").Scan(&version); err != nil {
		return 0, fmt.Errorf("read rowrun.migration: %w", err)
	}
	return version, nil
}

func (s *session) hasRecord(ctx context.Context) (exists bool, err error) {
	err = s.conn.QueryRow(ctx, "SELECT pg_catalog.to_regclass('rowrun.migration') IS NOT NULL").Scan(&exists)
	if err != nil {
		return false, fmt.Errorf("look for rowrun.migration: %w", err)
	}
	return exists, nil
}

// mark writes golang-migrate's row; version 0 is its "nil version".
func (s *session) mark(ctx context.Context, version int, dirty bool) error {
	if version == 0 {
		version = database.NilVersion
	}
	err := s.patiently(ctx, func() error { return s.driver.SetVersion(version, dirty) })
	if err != nil {
		return fmt.Errorf("write rowrun.schema_migrations: %w", err)
	}
	return nil
}

func (s *session) up(ctx context.Context, f file) error {
	return s.apply(ctx, f, f.version, f.up+f.record(), "migration applied")
}

// down takes a step back. The first one takes the code along, in the same transaction: it is of the newest tables.
func (s *session) down(ctx context.Context, f file) error {
	before := s.files.before(f.version)
	sql := f.down
	if s.files.code != nil {
		has, _, err := s.recordsObjects(ctx)
		if err != nil {
			return err
		}
		if has {
			sql = "DELETE FROM rowrun.schema_object;\n" + sql
		}
		sql = removal("true") + "DELETE FROM rowrun.code_version;\n" + sql
	}
	if before != 0 { // the first one's table goes with it
		sql += fmt.Sprintf("\nDELETE FROM rowrun.migration WHERE version = %d;\n", f.version)
	}
	return s.apply(ctx, f, before, sql, "migration taken back")
}

// apply runs one file, after which the schema is at version.
func (s *session) apply(ctx context.Context, f file, version int, sql, done string) error {
	began := time.Now()
	if err := s.mark(ctx, version, true); err != nil {
		return err
	}
	if err := s.patiently(ctx, func() error { return s.driver.Run(strings.NewReader(sql)) }); err != nil {
		err = fmt.Errorf("migration %d (%s): %w", f.version, f.name, err)
		if s.conn.IsClosed() {
			return err // the next call settles it
		}
		s.obeyed() // PostgreSQL signals a canceled session twice, and the second may come behind the answer to the first
		_, settleErr := s.settle(context.WithoutCancel(ctx))
		return errors.Join(err, settleErr)
	}
	if err := s.mark(ctx, version, false); err != nil {
		return err
	}
	s.log.Info().Int("version", f.version).Str("name", f.name).
		Float64("took_ms", float64(time.Since(began).Microseconds())/1000).Msg(done)
	return nil
}

// force makes both tables say that the steps up to version were applied, with the texts that this program has.
func (s *session) force(ctx context.Context, version int) error {
	err := s.patiently(ctx, func() error {
		exists, err := s.hasRecord(ctx)
		if err != nil || !exists {
			return err
		}
		var known []int
		var checksums []string
		for _, f := range s.files.list {
			if f.version <= version {
				known, checksums = append(known, f.version), append(checksums, f.checksum())
			}
		}
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "DELETE FROM rowrun.migration WHERE version > $1", version); err != nil {
				return err
			}
			const insert = `INSERT INTO rowrun.migration (version, checksum) SELECT * FROM unnest($1::bigint[], $2::text[])
ON CONFLICT (version) DO UPDATE SET checksum = excluded.checksum`
			_, err := tx.Exec(ctx, insert, known, checksums)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("write rowrun.migration: %w", err)
	}
	return s.mark(ctx, version, false)
}

// grant makes the roles that are missing and repeats what they may do, in one transaction. Roles belong to the whole
// server: another database's grants may run at the same moment.
func (s *session) grant(ctx context.Context) error {
	if err := s.makeRoles(ctx); err != nil {
		return err
	}
	run := func() error {
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			for _, o := range s.files.code.of(kindGrants) {
				if err := do(ctx, tx, o.rest...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	// The role's row came in between, or was changed ("tuple concurrently updated").
	if err := s.patiently(ctx, run, "23505", "42710", "XX000"); err != nil {
		return fmt.Errorf("grants: %w", err)
	}
	s.log.Info().Msg("grants applied")
	return nil
}

// patiently tries again while another session is in the way: it holds a lock
// longer than lock_timeout (55P03), or took part in a deadlock (40P01), or what
// more names. Each try is a transaction, so a failed one left nothing.
func (s *session) patiently(ctx context.Context, try func() error, more ...string) error {
	codes := append([]string{"55P03", "40P01"}, more...)
	pause := 50 * time.Millisecond
	for n := 1; ; n++ {
		err := try()
		if err == nil || n == tries || !is(err, codes...) {
			return err
		}
		if n == 1 {
			s.log.Warn().Str("sqlstate", code(err)).Msg("another session is in the way, trying again")
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Second)
		}
	}
}
