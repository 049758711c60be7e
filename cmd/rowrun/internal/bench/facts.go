package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// introduce says what is measured, on what.
func (b *Bench) introduce(ctx context.Context) (Report, error) {
	r := Report{
		Program: b.program(), Notes: []string{}, Measurements: []Measurement{},
		Sizes: Sizes{b.cfg.Runs, b.cfg.Rate, b.cfg.Duration.Seconds(), b.cfg.Writers, b.cfg.Replicas, b.cfg.Rounds, b.cfg.Concurrency},
	}
	const facts = `-- bench_facts
SELECT current_setting('server_version'), (SELECT max(version) FROM rowrun.migration), greatest(c.reltuples, 0)::bigint,
       pg_total_relation_size(c.oid), pg_database_size(current_database())
FROM pg_catalog.pg_class c WHERE c.oid = 'rowrun.task_run'::regclass`
	s := &r.Server
	if err := b.ask(ctx, facts, nil, &s.Version, &s.SchemaVersion, &s.Runs, &s.RunBytes, &s.DatabaseBytes); err != nil {
		return r, fmt.Errorf("look at the server: %w", err)
	}
	const settings = `-- bench_settings
SELECT name, current_setting(name) AS value FROM pg_catalog.pg_settings
WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'max_wal_size', 'max_slot_wal_keep_size',
               'checkpoint_timeout', 'autovacuum', 'max_connections') ORDER BY name`
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	rows, err := b.pool.Query(ctx, settings)
	if err != nil {
		return r, fmt.Errorf("look at the server's settings: %w", err)
	}
	if s.Settings, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Setting]); err != nil {
		return r, fmt.Errorf("look at the server's settings: %w", err)
	}
	if err := b.findStatements(ctx); err != nil {
		return r, err
	}
	s.Statements, s.Stream = b.statements != "", b.streaming
	if !s.Statements {
		r.Notes = append(r.Notes, "statements and server time per run need pg_stat_statements: add it to shared_preload_libraries, restart the server, "+
			"and CREATE EXTENSION pg_stat_statements in this database; without it WAL is that of the whole server")
	}
	if !s.Stream {
		r.Notes = append(r.Notes, "the replicas write no stream: this deployment has one already, and its lines would be lost")
	}
	return r, nil
}

// findStatements looks where pg_stat_statements is, if it can be read.
func (b *Bench) findStatements(ctx context.Context) error {
	const q = `-- bench_extension
SELECT quote_ident(n.nspname) || '.pg_stat_statements' FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'`
	var view string
	err := b.ask(ctx, q, nil, &view)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for pg_stat_statements: %w", err)
	}
	var n int64
	if err := b.ask(ctx, "-- bench_try_statements\nSELECT count(*) FROM "+view, nil, &n); err == nil {
		b.statements = view // an extension whose library isn't loaded answers with an error
	}
	return nil
}
