package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The statements that this package sends stand whole in sql, one a file; the file says its parameters and what comes back.
//
//go:embed sql/*.sql
var statementFiles embed.FS

// statements are the texts by name.
var statements = readStatements(statementFiles) //nolint:gochecknoglobals // SQL text, read once

// statement is the text of sql/<name>.sql as it is sent. A name without a file is a programmer's error: it panics, and a test
// finds it before.
func statement(name string) string {
	text, ok := statements[name]
	if !ok {
		panic(fmt.Sprintf("store: there is no statement %q", name))
	}
	return text
}

func readStatements(files fs.FS) map[string]string {
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	texts := make(map[string]string, len(names))
	for _, name := range names {
		file, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // what is embedded can be read
		}
		texts[strings.TrimSuffix(path.Base(name), ".sql")] = sent(string(file))
	}
	return texts
}

// sent is what the server gets of a file: its first line, by which logs and pg_stat_activity name the statement, and the
// statement. What stands between is for readers: pg_stat_activity shows 1,024 bytes.
func sent(file string) string {
	name, rest, _ := strings.Cut(strings.TrimSpace(file), "\n")
	for strings.HasPrefix(rest, "--") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return name + "\n" + rest
}

// collectPlanned reads the rows of a statement that is planned for these very parameters. It serves many filters, each of
// which needs a plan of its own, and a limit that isn't known would be taken for a tenth of the table.
func collectPlanned[T any](ctx context.Context, s *Store, what, q string, to pgx.RowToFunc[T], args ...any) ([]T, error) {
	var all []T
	b := &pgx.Batch{} // one transaction, as long as which the setting lasts
	b.Queue(`SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`)
	b.Queue(q, args...).Query(func(rows pgx.Rows) (err error) {
		all, err = pgx.CollectRows(rows, to)
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}
