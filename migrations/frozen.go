package migrations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrOldNumbering says that a schema was made before table steps were numbered as they are now.
var ErrOldNumbering = errors.New("schema rowrun is of before the first release, with the old numbering of migrations, and can't be converted: " +
	"make a new one, in another database or after DROP SCHEMA rowrun CASCADE, with which all plans and runs are lost")

// oldNumberingSQL: since then each step has recorded its checksum.
const oldNumberingSQL = `SELECT pg_catalog.to_regclass('rowrun.migration') IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = pg_catalog.to_regclass('rowrun.migration') AND a.attname = 'checksum' AND NOT a.attisdropped)`

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func refuseOldNumbering(ctx context.Context, q querier) error {
	var old bool
	if err := q.QueryRow(ctx, oldNumberingSQL).Scan(&old); err != nil {
		return fmt.Errorf("look at rowrun.migration: %w", err)
	}
	if old {
		return ErrOldNumbering
	}
	return nil
}

// changedSteps are the files of steps that the database has applied with another text.
func (fs *files) changedSteps(ctx context.Context, q querier) (paths []string, err error) {
	rows, err := q.Query(ctx, "SELECT version, checksum FROM rowrun.migration ORDER BY version")
	if err != nil {
		return nil, err
	}
	applied := map[int]string{}
	var version int
	var checksum string
	if _, err := pgx.ForEachRow(rows, []any{&version, &checksum}, func() error {
		applied[version] = checksum
		return nil
	}); err != nil {
		return nil, err
	}
	for _, f := range fs.list {
		if sum, ok := applied[f.version]; ok && sum != f.checksum() {
			paths = append(paths, f.path())
		}
	}
	return paths, nil
}

// verify refuses a database whose steps were applied with another text than this program's: what it has then is not what
// the next step was written for.
func (s *session) verify(ctx context.Context) error {
	exists, err := s.hasRecord(ctx)
	if err != nil || !exists {
		return err
	}
	paths, err := s.files.changedSteps(ctx, s.conn)
	if err != nil {
		return fmt.Errorf("read rowrun.migration: %w", err)
	}
	if len(paths) > 0 {
		return fmt.Errorf("%s has another text than what this database was made with: applied table steps are frozen; "+
			"put the file back as it was and write the change as a next step, or use the program that migrated the database", strings.Join(paths, ", "))
	}
	return nil
}
