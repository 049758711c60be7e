package migrations_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// patience is how long a test waits for what must come; never how long it takes.
const patience = time.Minute

// childURL makes the test binary a process that migrates slowly, for tests that kill one.
const childURL = "MIGRATIONS_TEST_CHILD"

func TestMain(m *testing.M) {
	if url, ok := os.LookupEnv(childURL); ok {
		files, err := slow()
		if err == nil {
			_, err = migrations.Up(context.Background(), migrations.Config{URL: url, FS: files})
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	storetest.Main(m)
}

// slow is the real schema, with a step that stops for a while just before
// its end, long enough to be caught there.
func slow() (fs.FS, error) {
	files, err := real()
	if err != nil {
		return nil, err
	}
	name := "tables/0002_run_ownership.up.sql"
	files[name] = &fstest.MapFile{Data: append(files[name].Data, "SELECT pg_catalog.pg_sleep(1);\n"...)}
	return files, nil
}

func real() (fstest.MapFS, error) {
	files := fstest.MapFS{}
	return files, fs.WalkDir(migrations.Embedded(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(migrations.Embedded(), path)
		files[path] = &fstest.MapFile{Data: data}
		return err
	})
}

// small is three steps that make a table each, and no code.
func small() fstest.MapFS {
	return fstest.MapFS{
		"tables/0001_books.up.sql": text(`CREATE TABLE rowrun.migration (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(), checksum text NOT NULL);
			CREATE TABLE rowrun.code_version (singleton boolean PRIMARY KEY DEFAULT true, release int, hash text, applied_at timestamptz DEFAULT now());
			CREATE TABLE rowrun.code_object (object text PRIMARY KEY, hash text NOT NULL, position int NOT NULL, retired_in int);
			CREATE TABLE rowrun.a ();`),
		"tables/0001_books.down.sql": text(`DROP TABLE rowrun.a, rowrun.code_object, rowrun.code_version, rowrun.migration;`),
		"tables/0002_b.up.sql":       text(`CREATE TABLE rowrun.b ();`),
		"tables/0002_b.down.sql":     text(`DROP TABLE rowrun.b;`),
		"tables/0003_c.up.sql":       text(`ALTER TABLE rowrun.b ADD COLUMN c int;`),
		"tables/0003_c.down.sql":     text(`ALTER TABLE rowrun.b DROP COLUMN c;`),
	}
}

func text(sql string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(sql)} }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func ask[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var answer T
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&answer))
	return answer
}

// objects describes everything in schema rowrun but golang-migrate's own table.
func objects(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	const sql = `
SELECT format('%s %s %s', c.relkind, c.oid::regclass, pg_get_indexdef(c.oid)) FROM pg_class c
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relname NOT LIKE 'schema_migrations%'
UNION ALL
SELECT format('column %s.%s %s %s %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'schema_migrations'
UNION ALL
SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
WHERE connamespace = 'rowrun'::regnamespace AND conname NOT LIKE 'schema_migrations%'
UNION ALL
SELECT format('function %s %s', oid::regprocedure, md5(prosrc)) FROM pg_proc WHERE pronamespace = 'rowrun'::regnamespace
UNION ALL
SELECT format('type %s', oid::regtype) FROM pg_type
WHERE typnamespace = 'rowrun'::regnamespace AND typrelid = 0 AND typelem = 0
UNION ALL
SELECT format('trigger %s', pg_get_triggerdef(t.oid)) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = 'rowrun'::regnamespace AND NOT t.tgisinternal
ORDER BY 1`
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatal("did not come: " + what)
		case <-tick.C:
		}
	}
}

// buffer is a bytes.Buffer for many goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) has(s string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.b.Bytes(), []byte(s))
}
