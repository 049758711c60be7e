package migrations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
)

// errScratch takes back what was only made to be looked at.
var errScratch = errors.New("nothing of this stays")

// reference is the schema as the migrations make it on this very server: they run beside the schema that is there, in a
// transaction that is taken back, so that nobody else sees them, and no text of one server is compared with another's.
func (s *session) reference(ctx context.Context) (objects []object, err error) {
	var text strings.Builder
	for _, f := range s.files.list {
		text.WriteString(f.up)
		text.WriteString(";\n")
	}
	text.WriteString(s.files.code.script())
	const aside = `ALTER SCHEMA rowrun RENAME TO rowrun_aside;
DO $$
BEGIN
    ALTER PUBLICATION rowrun_stream RENAME TO rowrun_stream_aside;
EXCEPTION WHEN undefined_object THEN
    NULL;
END $$;
CREATE SCHEMA rowrun;
`
	build := func() error {
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if _, err := tx.Conn().PgConn().Exec(ctx, aside+text.String()).ReadAll(); err != nil {
				return fmt.Errorf("run the migrations beside the schema: %w", err)
			}
			var err error
			if objects, err = catalog(ctx, tx); err != nil {
				return err
			}
			return errScratch
		})
	}
	// Roles are the server's: another database's migration may make or grant them at the same moment.
	err = s.patiently(ctx, build, "23505", "42710", "XX000")
	if errors.Is(err, errScratch) {
		err = nil
	}
	return objects, err
}

// actual is the schema as it is.
func (s *session) actual(ctx context.Context) (objects []object, err error) {
	err = pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		objects, err = catalog(ctx, tx)
		return err
	})
	return objects, err
}

// edition tells one text of table steps and code from another.
func (fs *files) edition() string {
	sum := sha256.New()
	for _, f := range fs.list {
		_, _ = io.WriteString(sum, f.up)
	}
	_, _ = io.WriteString(sum, fs.code.hash())
	return "What the schema was made of, for `rowrun doctor`. Migrations: " + hex.EncodeToString(sum.Sum(nil)[:8])
}

// recordsObjects says whether the schema has a table for its objects, and whether that is of these migrations.
func (s *session) recordsObjects(ctx context.Context) (has, current bool, err error) {
	const sql = `SELECT c.oid IS NOT NULL, coalesce(pg_catalog.obj_description(c.oid, 'pg_class') = $1, false)
FROM (SELECT pg_catalog.to_regclass('rowrun.schema_object') AS oid) c`
	err = s.conn.QueryRow(ctx, sql, s.files.edition()).Scan(&has, &current)
	if err == nil && current { // what took the code back has emptied it
		err = s.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM rowrun.schema_object)").Scan(&current)
	}
	if err != nil {
		return false, false, fmt.Errorf("look for rowrun.schema_object: %w", err)
	}
	return has, current, nil
}

// note records of which objects the schema consists, unless that was done: after the migrations have made all of it
// (fresh) as they stand there, otherwise as they would be made now.
func (s *session) note(ctx context.Context, fresh bool) error {
	has, current, err := s.recordsObjects(ctx)
	if err != nil || !has {
		return err
	}
	if err := s.notePlace(ctx); err != nil || current {
		return err
	}
	var objects []object
	if !fresh {
		if objects, err = s.reference(ctx); err != nil {
			if s.conn.IsClosed() || ctx.Err() != nil {
				return err
			}
			s.log.Warn().Err(explain(ctx, err)).Msg("the schema is recorded as it is: what it should be can't be made beside it")
			fresh = true
		}
	}
	if fresh {
		if objects, err = s.actual(ctx); err != nil {
			return err
		}
	}
	return s.writeObjects(ctx, objects)
}

// placeSQL records where the deployment belongs, where nobody could tell before.
const placeSQL = `SELECT rowrun.renew_deployment(false) FROM rowrun.deployment d
WHERE (d.system_identifier IS NULL OR d.database_oid IS NULL) AND NOT rowrun.deployment_elsewhere()`

func (s *session) notePlace(ctx context.Context) error {
	err := s.patiently(ctx, func() error {
		_, err := s.conn.Exec(ctx, placeSQL)
		return err
	})
	if err != nil {
		return fmt.Errorf("record where the deployment belongs: %w", err)
	}
	return nil
}

func (s *session) writeObjects(ctx context.Context, objects []object) error {
	var kinds, names, hashes []string
	for _, o := range objects {
		kinds, names, hashes = append(kinds, o.Kind), append(names, o.Name), append(hashes, o.Hash)
	}
	err := s.patiently(ctx, func() error {
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "DELETE FROM rowrun.schema_object"); err != nil {
				return err
			}
			const insert = "INSERT INTO rowrun.schema_object (kind, name, hash) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])"
			if _, err := tx.Exec(ctx, insert, kinds, names, hashes); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "COMMENT ON TABLE rowrun.schema_object IS '"+s.files.edition()+"'")
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("write rowrun.schema_object: %w", err)
	}
	return nil
}
