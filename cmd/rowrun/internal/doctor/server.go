package doctor

import (
	"context"
	"fmt"
	"time"
)

const (
	oldestServer       = 150000
	maxClockDifference = 5 * time.Second
	clockSamples       = 5
	fullNotifyQueue    = 0.5
)

// checkServer asks the server first of all: what it tells, the others use.
func (d *doctor) checkServer(ctx context.Context) error {
	var err error
	if d.server, err = d.store.ServerFacts(ctx); err != nil {
		return err
	}
	d.judgeServer()
	return nil
}

// judgeServer judges the server's settings.
func (d *doctor) judgeServer() {
	s := &d.server
	if s.VersionNum < oldestServer {
		d.add("server", Warning, "PostgreSQL "+s.Version+" is too old, 15 is the first that works", "pg_upgrade  # to 15 or later")
	} else {
		d.add("server", Fine, "PostgreSQL "+s.Version, "")
	}
	if s.Standby {
		d.add("server", Warning, "this server is a standby: nothing can be written", "rowrun doctor --database-url 'postgres://…?target_session_attrs=read-write'")
	}
	if s.ReadOnly {
		d.add("server", Warning, "default_transaction_read_only is on for this role: nothing can be written",
			"ALTER ROLE "+quoteIdentifier(s.Role)+" SET default_transaction_read_only = off;")
	}
	if s.Isolation != "read committed" && s.Isolation != "read uncommitted" {
		d.add("server", Note, "default_transaction_isolation is "+s.Isolation+" for this role: sidecars and commands take READ COMMITTED all the same; "+
			"SQL clients that have it too are refused by Rowrun's functions (25000)",
			"ALTER ROLE "+quoteIdentifier(s.Role)+" SET default_transaction_isolation = 'read committed'; -- or that of the clients; with psql SET does it for the session")
	}
	if !s.Fsync || !s.FullPageWrites {
		d.add("server", Warning, "fsync or full_page_writes is off: a crash of the machine may lose or damage the database",
			"ALTER SYSTEM SET fsync = on; ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();")
	}
	if !s.Autovacuum {
		d.add("server", Warning, "autovacuum or track_counts is off: dead rows pile up, and looks for work get slower from hour to hour",
			"ALTER SYSTEM SET autovacuum = on; ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();")
	}
	if s.Connections*10 > s.MaxConnections*8 {
		d.add("connections", Warning, fmt.Sprintf("%d of %d connections are open: replicas may find none", s.Connections, s.MaxConnections),
			fmt.Sprintf("ALTER SYSTEM SET max_connections = %d; -- and restart the server; or lower --db-max-conns", 2*s.MaxConnections))
	} else {
		d.add("connections", Fine, fmt.Sprintf("%d of %d connections are open", s.Connections, s.MaxConnections), "")
	}
	switch {
	case s.WALLevel != "logical":
		d.add("wal_level", Note, "wal_level is "+s.WALLevel+": the stream and the wake-ups can't come from the write-ahead log",
			"ALTER SYSTEM SET wal_level = logical; -- and restart the server")
	case !s.Replication:
		d.add("wal_level", Note, "the role has no REPLICATION: the stream can't come from the write-ahead log",
			"ALTER ROLE "+quoteIdentifier(s.Role)+" REPLICATION;")
	case s.SlotKeepSize == "-1":
		d.add("wal_level", Note, "max_slot_wal_keep_size is not set: a replication slot that nobody reads could fill the disk, so none is used unasked",
			"ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();")
	case s.FreeSlots <= 0:
		d.add("wal_level", Note, "every replication slot of the server is taken; the stream needs one, if none of them is its own",
			"ALTER SYSTEM SET max_replication_slots = 20; -- and restart the server")
	default:
		d.add("wal_level", Fine, "wal_level is logical, max_slot_wal_keep_size "+s.SlotKeepSize, "")
	}
	if s.NotifyQueue > fullNotifyQueue {
		d.add("notify", Warning, fmt.Sprintf("the notification queue is %.0f %% full: Rowrun notifies nothing, and runs start late; when it is full every NOTIFY of others fails", 100*s.NotifyQueue),
			"SELECT pid, application_name, state, xact_start FROM pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY xact_start LIMIT 5; -- a session that listens: SELECT pg_terminate_backend(pid);")
	} else {
		d.add("notify", Fine, fmt.Sprintf("the notification queue is %.0f %% full", 100*s.NotifyQueue), "")
	}
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
		d.add("clock", Warning, text+": decisions follow the database's, but signatures and log times are off", "timedatectl set-ntp true  # on both machines")
	} else {
		d.add("clock", Fine, text, "")
	}
	return nil
}
