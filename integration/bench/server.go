package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/store/embeddedpg"
)

// settings of the server, the same for everybody. Commits are durable.
func settings() map[string]string {
	return map[string]string{
		"fsync":                        "on",
		"synchronous_commit":           "on",
		"full_page_writes":             "on",
		"wal_level":                    "logical",
		"shared_buffers":               "512MB",
		"max_wal_size":                 "4GB",
		"checkpoint_timeout":           "15min",
		"checkpoint_completion_target": "0.9",
	}
}

// server is a private PostgreSQL of one section.
type server struct {
	*embeddedpg.Cluster
	dir       string
	databases []*database // to be closed before it stops
}

func (b *bench) startServer(ctx context.Context, extra map[string]string) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "pg")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the server's user passes through
		return nil, err
	}
	all := settings()
	maps.Copy(all, extra)
	cluster, err := embeddedpg.Start(ctx, embeddedpg.Config{Dir: dir, Settings: all})
	if err != nil {
		return nil, err
	}
	return &server{Cluster: cluster, dir: dir}, nil
}

// stop ends the server and removes its data.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(s.Stop(ctx), os.RemoveAll(s.dir))
}

// database is one that belongs to a measurement.
type database struct {
	*pgx.Conn
	name, url string
}

// newDatabase makes a database; with Rowrun's schema where schema is true.
func (b *bench) newDatabase(ctx context.Context, s *server, name string, schema bool) (*database, error) {
	admin, err := pgx.Connect(ctx, s.SocketURL("postgres"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return nil, err
	}
	d := &database{name: name, url: s.SocketURL(name)}
	if schema {
		migrate := exec.CommandContext(ctx, b.rowrun, "migrate", "up")
		migrate.Env = environment(d.url)
		if out, err := migrate.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("migrate up: %w: %s", err, out)
		}
	}
	d.Conn, err = pgx.Connect(ctx, d.url)
	return d, err
}

func (d *database) close() { _ = d.Close(context.Background()) }

// do runs statements one after the other.
func (d *database) do(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := d.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// numbers are the rows of a query with one column.
func (d *database) numbers(ctx context.Context, query string, args ...any) ([]float64, error) {
	rows, err := d.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[float64])
}

// introduce says what is measured, on what.
func (b *bench) introduce(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	conn, err := pgx.Connect(ctx, s.SocketURL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var postgres string
	if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&postgres); err != nil {
		return err
	}
	shown := make([]string, 0, len(settings()))
	rows, err := conn.Query(ctx, `SELECT name || ' = ' || current_setting(name) FROM pg_settings WHERE name = ANY ($1) ORDER BY name`,
		append(keys(settings()), "wal_sync_method"))
	if err != nil {
		return err
	}
	if shown, err = pgx.AppendRows(shown, rows, pgx.RowTo[string]); err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, b.rowrun, "version").Output()
	if err != nil {
		return err
	}
	fields := strings.Fields(strings.TrimPrefix(string(version), "VERSION  GO        PLATFORM"))
	if len(fields) > 0 {
		b.version = fields[0]
	}
	size := "scaled"
	if b.full {
		size = "full"
	}
	_, err = fmt.Fprintf(b.table.out, "rowrun %s, PostgreSQL %s, %d CPUs, %s, sizes %s\n%s\n", strings.Join(fields, " "), postgres,
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), size, strings.Join(shown, ", "))
	return err
}

func keys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return names
}
