package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// insertion is one way in which a replica learns of new runs.
type insertion struct {
	name   string
	table  string
	wake   string
	stream string
}

// insert takes the ways to wake in turn. Runs are due tomorrow, so that nothing but the insert is measured. No trigger of
// a live table is ever disabled: the way without those that notify is a copy of it.
func (b *Bench) insert(ctx context.Context) ([]*Case, error) {
	ways := []insertion{
		{"no notify triggers (a copy)", b.name + ".task_run", "poll", "off"},
		{"woken by NOTIFY", "rowrun.task_run", "notify", "off"},
	}
	why, err := b.logUnfit(ctx)
	if err != nil {
		return nil, err
	}
	if why == "" {
		ways = append(ways, insertion{"woken by the log", "rowrun.task_run", "wal", "wal"})
	} else {
		b.note("not measured: woken by the log, since " + why)
	}
	if err := b.copyTable(ctx); err != nil {
		return nil, fmt.Errorf("copy rowrun.task_run: %w", err)
	}
	var cases []*Case
	for _, way := range ways {
		cases = append(cases, &Case{Name: way.name})
	}
	for range b.cfg.Rounds {
		for i, way := range ways {
			if err := b.insertOnce(ctx, cases[i], way); err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
		}
	}
	for _, c := range cases[1:] {
		c.compare("of_copy", "rate", cases[0])
	}
	return cases, b.exec(ctx, "DROP TABLE "+b.name+".task_run, "+b.name+".task")
}

// logUnfit says why no replica of the bench can be woken by the log; "": one can.
func (b *Bench) logUnfit(ctx context.Context) (string, error) {
	const q = `-- bench_log
SELECT current_setting('wal_level'), a.rolreplication OR a.rolsuper,
       (SELECT count(*) FROM pg_catalog.pg_replication_slots) < current_setting('max_replication_slots')::int
FROM pg_catalog.pg_roles a WHERE a.rolname = current_user`
	var level string
	var may, room bool
	if err := b.ask(ctx, q, nil, &level, &may, &room); err != nil {
		return "", fmt.Errorf("look at wal_level: %w", err)
	}
	switch {
	case level != "logical":
		return "wal_level is " + level + ", not logical", nil
	case !may:
		return "the role has no REPLICATION", nil
	case !room:
		return "no replication slot is left (max_replication_slots)", nil
	case !b.streaming:
		return "this deployment's stream belongs to others", nil
	}
	return "", nil
}

// copyTable makes a copy of the table of runs: columns, CHECKs, indexes, storage, a foreign key, and every trigger but
// those that notify. The triggers' functions are the same, and read the live rowrun.task.
func (b *Bench) copyTable(ctx context.Context) error {
	const options = `-- bench_options
SELECT coalesce(array_to_string(reloptions, ', '), '') FROM pg_catalog.pg_class WHERE oid = 'rowrun.task_run'::regclass`
	var with string
	if err := b.ask(ctx, options, nil, &with); err != nil {
		return err
	}
	if with != "" {
		with = " WITH (" + with + ")"
	}
	runs, tasks := b.name+".task_run", b.name+".task"
	const triggers = `-- bench_triggers
SELECT pg_get_triggerdef(oid) FROM pg_catalog.pg_trigger
WHERE tgrelid = 'rowrun.task_run'::regclass AND NOT tgisinternal AND tgname <> 'task_run_inserted' ORDER BY tgname`
	made, err := column[string](ctx, b, triggers)
	if err != nil {
		return err
	}
	statements := []string{
		"CREATE TABLE " + tasks + " (LIKE rowrun.task INCLUDING ALL)",
		"INSERT INTO " + tasks + " (id, name, type, queue, sequential) VALUES (" + strconv.FormatInt(b.task, 10) + ", '" + b.name + "', 'NOOP', '" + b.name + "', false)",
		"CREATE TABLE " + runs + " (LIKE rowrun.task_run INCLUDING ALL)" + with,
		"ALTER TABLE " + runs + " ADD FOREIGN KEY (task_id) REFERENCES " + tasks + " ON DELETE CASCADE",
	}
	for _, trigger := range made {
		statements = append(statements, strings.Replace(trigger, " ON rowrun.task_run ", " ON "+runs+" ", 1))
	}
	for _, statement := range statements {
		if err := b.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) insertOnce(ctx context.Context, c *Case, way insertion) error {
	args := []string{"--sweep-interval", "10m", "--wake", way.wake, "--stream-source", way.stream}
	r, err := b.serve(ctx, b.cfg.Concurrency, args...)
	if err != nil {
		return err
	}
	if _, err = b.awake(ctx, r, way.wake); err == nil {
		err = b.insertFor(ctx, c, way.table)
	}
	if err = errors.Join(err, r.stop()); err != nil {
		return err
	}
	if way.table != "rowrun.task_run" {
		return b.exec(ctx, "TRUNCATE "+way.table)
	}
	return b.clear(ctx)
}

// insertFor has all writers insert for the time that is asked for.
func (b *Bench) insertFor(ctx context.Context, c *Case, table string) error {
	insert := "INSERT INTO " + table + " (task_id, run_at) VALUES (" + strconv.FormatInt(b.task, 10) + ", now() + interval '1 day')"
	var inserted atomic.Int64
	seconds, err := b.write(ctx, func(conn *pgxpool.Conn, _, _ int) error {
		if err := b.insertOne(ctx, conn.Conn(), insert); err != nil {
			return err
		}
		inserted.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	c.Runs += int(inserted.Load())
	c.add("rate", "inserts/s", float64(inserted.Load())/seconds)
	return nil
}

// write has all writers write, each on a session of its own and at least once, for the time that is asked for. one is told who
// writes and how many times that one has.
func (b *Bench) write(ctx context.Context, one func(conn *pgxpool.Conn, writer, n int) error) (seconds float64, err error) {
	conns := make([]*pgxpool.Conn, b.cfg.Writers)
	for writer := range conns {
		if conns[writer], err = b.pool.Acquire(ctx); err != nil {
			return 0, err
		}
		defer conns[writer].Release()
	}
	var over atomic.Bool
	var group errgroup.Group
	begun := time.Now()
	for writer, conn := range conns {
		group.Go(func() error {
			for n := 0; n == 0 || !over.Load(); n++ {
				if err := one(conn, writer, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = wait(ctx, b.cfg.Duration)
	over.Store(true)
	err = errors.Join(err, group.Wait())
	return time.Since(begun).Seconds(), err
}
