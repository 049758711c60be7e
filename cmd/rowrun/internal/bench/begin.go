package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// prefix of every bench's name; leftovers are found by it.
const prefix = "rowrun_bench_"

// begin refuses what it can't measure well, and makes what all measurements use.
func (b *Bench) begin(ctx context.Context) error {
	if err := b.checkRights(ctx); err != nil {
		return err
	}
	left, err := b.leftovers(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("a bench that was killed left %s behind: run `rowrun bench --clean` first", strings.Join(left, ", "))
	}
	if err := b.checkCompany(ctx); err != nil {
		return err
	}
	const start = `-- bench_begin
SELECT (SELECT last_value - (NOT is_called)::int FROM rowrun.task_run_id_seq),
       d.stream_replica_id IS NULL AND NOT EXISTS (SELECT FROM rowrun.stream_position)
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots WHERE slot_name = 'rowrun_stream_' || left(d.id::text, 8))
       AND NOT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE state <> 'DEAD' AND last_heartbeat + lease > clock_timestamp())
FROM rowrun.deployment d`
	if err := b.ask(ctx, start, nil, &b.first, &b.streaming); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// One query, one transaction: without the table nobody would know what to put back.
	schema := "CREATE SCHEMA " + b.name + "; CREATE TABLE " + b.name + ".bench AS SELECT now() AS started_at, " +
		strconv.FormatInt(b.first, 10) + "::bigint AS first_run, " + strconv.FormatBool(b.streaming) + " AS stream"
	if err := b.exec(ctx, schema); err != nil {
		// Interrupted, it may have been made all the same.
		return errors.Join(fmt.Errorf("make schema %s: %w", b.name, err),
			b.exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+b.name+" CASCADE"))
	}
	const task = `-- bench_task
INSERT INTO rowrun.task (name, type, queue) VALUES ($1, 'NOOP', $1) RETURNING id`
	if err := b.ask(ctx, task, []any{b.name}, &b.task); err != nil {
		return errors.Join(fmt.Errorf("make a task: %w", err), b.remove(ctx, b.name))
	}
	return nil
}

// checkRights: the owner of the tables vacuums them and ends runs by hand.
func (b *Bench) checkRights(ctx context.Context) error {
	const q = `-- bench_rights
SELECT pg_has_role(c.relowner, 'USAGE'), has_database_privilege(current_database(), 'CREATE')
FROM pg_catalog.pg_class c WHERE c.oid = 'rowrun.task_run'::regclass`
	var owner, creator bool
	if err := b.ask(ctx, q, nil, &owner, &creator); err != nil {
		return fmt.Errorf("look at this role's rights: %w", err)
	}
	if !owner || !creator {
		return errors.New("bench needs the role that owns Rowrun's tables, with CREATE on the database: give it the one that ran `rowrun migrate up`")
	}
	return nil
}

// checkCompany refuses, without --yes, to share work with others.
func (b *Bench) checkCompany(ctx context.Context) error {
	if b.cfg.Yes {
		return nil
	}
	const q = `-- bench_company
SELECT (SELECT count(*) FROM rowrun.replica_heartbeat WHERE state <> 'DEAD' AND last_heartbeat + lease > clock_timestamp()),
       (SELECT count(*) FROM (SELECT FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 10000) r),
       (SELECT count(*) FROM (SELECT FROM rowrun.webhook_delivery WHERE status = 'PENDING' LIMIT 10000) d)`
	var replicas, runs, deliveries int64
	if err := b.ask(ctx, q, nil, &replicas, &runs, &deliveries); err != nil {
		return fmt.Errorf("look for other replicas: %w", err)
	}
	var found []string
	for _, of := range []struct {
		n    int64
		what string
	}{
		{replicas, "replicas that are live (they would promote the bench's runs)"},
		{runs, "runs that have not ended (the bench's replicas would promote them)"},
		{deliveries, "webhook deliveries that are pending (the bench's replicas would send them)"},
	} {
		if of.n > 0 {
			found = append(found, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("this database has %s; work and figures would be shared: stop the replicas, or use another database; --yes measures all the same",
		strings.Join(found, ", "))
}
