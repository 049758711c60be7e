package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/session"
)

const (
	oldestServer       = 150000
	maxClockDifference = 5 * time.Second
	clockSamples       = 5
	fullNotifyQueue    = 0.5
)

// checkServer judges the server's settings.
func (d *doctor) checkServer() {
	s := &d.server
	if s.VersionNum < oldestServer {
		d.add("server", warning, "PostgreSQL "+s.Version+" is too old, 15 is the first that works", "pg_upgrade  # to 15 or later")
	} else {
		d.add("server", fine, "PostgreSQL "+s.Version, "")
	}
	if s.Standby {
		d.add("server", warning, "this server is a standby: nothing can be written", "rowrun doctor --database-url 'postgres://…?target_session_attrs=read-write'")
	}
	if s.ReadOnly {
		d.add("server", warning, "default_transaction_read_only is on for this role: nothing can be written",
			"ALTER ROLE "+quoteIdentifier(s.Role)+" SET default_transaction_read_only = off;")
	}
	if !s.Fsync || !s.FullPageWrites {
		d.add("server", warning, "fsync or full_page_writes is off: a crash of the machine may lose or damage the database",
			"ALTER SYSTEM SET fsync = on; ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();")
	}
	if !s.Autovacuum {
		d.add("server", warning, "autovacuum or track_counts is off: dead rows pile up, and looks for work get slower from hour to hour",
			"ALTER SYSTEM SET autovacuum = on; ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();")
	}
	if s.Connections*10 > s.MaxConnections*8 {
		d.add("connections", warning, fmt.Sprintf("%d of %d connections are open: replicas may find none", s.Connections, s.MaxConnections),
			fmt.Sprintf("ALTER SYSTEM SET max_connections = %d; -- and restart the server; or lower --db-max-conns", 2*s.MaxConnections))
	} else {
		d.add("connections", fine, fmt.Sprintf("%d of %d connections are open", s.Connections, s.MaxConnections), "")
	}
	switch {
	case s.WALLevel != "logical":
		d.add("wal_level", note, "wal_level is "+s.WALLevel+": the stream and the wake-ups can't come from the write-ahead log",
			"ALTER SYSTEM SET wal_level = logical; -- and restart the server")
	case !s.Replication:
		d.add("wal_level", note, "the role has no REPLICATION: the stream can't come from the write-ahead log",
			"ALTER ROLE "+quoteIdentifier(s.Role)+" REPLICATION;")
	case s.SlotKeepSize == "-1":
		d.add("wal_level", note, "max_slot_wal_keep_size is not set: a replication slot that nobody reads could fill the disk, so none is used unasked",
			"ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();")
	case s.FreeSlots <= 0:
		d.add("wal_level", note, "every replication slot of the server is taken; the stream needs one, if none of them is its own",
			"ALTER SYSTEM SET max_replication_slots = 20; -- and restart the server")
	default:
		d.add("wal_level", fine, "wal_level is logical, max_slot_wal_keep_size "+s.SlotKeepSize, "")
	}
	if s.NotifyQueue > fullNotifyQueue {
		d.add("notify", warning, fmt.Sprintf("the notification queue is %.0f %% full; when it is full every INSERT of a run fails", 100*s.NotifyQueue),
			"SELECT pid, application_name, state, xact_start FROM pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY xact_start LIMIT 5; -- a session that listens: SELECT pg_terminate_backend(pid);")
	} else {
		d.add("notify", fine, fmt.Sprintf("the notification queue is %.0f %% full", 100*s.NotifyQueue), "")
	}
}

// checkPoolers judges whether a notification arrived where replicas listen, and looks for the bounds that can't be asked
// for through a pooler.
func (d *doctor) checkPoolers(ctx context.Context) error {
	switch {
	case d.hearsErr != nil:
		return d.hearsErr
	case !d.hears:
		d.add("pooler", warning, "notifications do not arrive on "+database.Place(d.database.DirectURL)+", most likely through a pooler in transaction mode: replicas poll, and write no stream",
			"rowrun serve --direct-url postgres://…  # the server itself")
	case d.database.Pooled():
		d.add("pooler", fine, "notifications arrive on --direct-url", "")
		return d.checkPooledSessions(ctx)
	default:
		d.add("pooler", fine, "notifications arrive", "")
	}
	return nil
}

// checkPooledSessions: a replica bounds its own sessions, but not those that it shares.
func (d *doctor) checkPooledSessions(ctx context.Context) error {
	config, err := pgx.ParseConfig(d.database.URL)
	if err != nil {
		return errors.New("not a connection string") // resolve has parsed it before
	}
	session.Encode(config)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // a statement may meet another session
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var role string
	var statement, idle bool
	const q = `-- doctor_pooled
SELECT current_user::pg_catalog.text, pg_catalog.current_setting('statement_timeout') OPERATOR(pg_catalog.<>) '0',
       pg_catalog.current_setting('idle_in_transaction_session_timeout') OPERATOR(pg_catalog.<>) '0'`
	if err := conn.QueryRow(ctx, q).Scan(&role, &statement, &idle); err != nil {
		return err
	}
	if !statement || !idle {
		d.add("pooler", warning, "sessions through the pooler have no statement_timeout or no idle_in_transaction_session_timeout: "+
			"one that a replica has lost may hold its locks for as long as it likes",
			"ALTER ROLE "+quoteIdentifier(role)+" SET statement_timeout = '18s'; ALTER ROLE "+quoteIdentifier(role)+
				" SET idle_in_transaction_session_timeout = '18s'; -- three tenths of --stale-after")
	}
	return nil
}

// hears sends a notification to itself.
func hears(ctx context.Context, url string) (bool, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return false, errors.New("not a connection string") // resolve has parsed it before
	}
	err = events.ProbeListen(ctx, config)
	if errors.Is(err, events.ErrNoNotify) {
		return false, nil
	}
	return err == nil, err
}

// checkClock compares the clocks: the quickest of some answers tells the most.
func (d *doctor) checkClock(ctx context.Context) error {
	quickest, difference := time.Hour, time.Duration(0)
	for range clockSamples {
		sent, begun := d.now(), time.Now()
		theirs, err := d.store.Clock(ctx)
		if err != nil {
			return err
		}
		if took := time.Since(begun); took < quickest {
			quickest, difference = took, theirs.Sub(sent.Add(took/2))
		}
	}
	text := fmt.Sprintf("the database's clock is %s ahead of this machine's (± %s)", difference.Round(time.Millisecond), (quickest / 2).Round(10*time.Microsecond))
	if difference.Abs()-quickest/2 > maxClockDifference {
		d.add("clock", warning, text+": decisions follow the database's, but signatures and log times are off", "timedatectl set-ntp true  # on both machines")
	} else {
		d.add("clock", fine, text, "")
	}
	return nil
}
