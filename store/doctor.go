package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ServerFacts are what PostgreSQL tells of itself and of who asks.
type ServerFacts struct {
	Version           string
	VersionNum        int64 // 150004 is 15.4
	WALLevel          string
	SlotKeepSize      string // max_slot_wal_keep_size as shown, -1: no bound
	Fsync             bool
	FullPageWrites    bool
	Autovacuum        bool  // it runs, and has the statistics that it needs
	FreeSlots         int64 // replication slots that may still be made
	MaxConnections    int64
	Connections       int64 // open now
	Role              string
	Replication       bool // the role may open a replication connection
	Known             bool // the server has the role rowrun_replica
	Member            bool // the role has its rights
	SeesOtherSessions bool // the role may read the state of other roles' sessions
	Standby           bool
	ReadOnly          bool // default_transaction_read_only
	NotifyQueue       float64
}

// ServerFacts asks the server; it needs no schema.
func (s *Store) ServerFacts(ctx context.Context) (ServerFacts, error) {
	const q = `-- doctor_server
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::bigint AS version_num, current_setting('wal_level') AS wal_level,
       current_setting('max_slot_wal_keep_size') AS slot_keep_size,
       current_setting('fsync')::boolean AS fsync, current_setting('full_page_writes')::boolean AS full_page_writes,
       current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS autovacuum,
       current_setting('max_replication_slots')::bigint - (SELECT count(*) FROM pg_replication_slots) AS free_slots,
       current_setting('max_connections')::bigint AS max_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
       current_user::text AS role,
       (SELECT r.rolsuper OR r.rolreplication FROM pg_roles r WHERE r.rolname = current_user) AS replication,
       to_regrole('rowrun_replica') IS NOT NULL AS known, coalesce(pg_has_role(current_user, to_regrole('rowrun_replica'), 'USAGE'), false) AS member,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_other_sessions,
       pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::boolean AS read_only,
       pg_notification_queue_usage() AS notify_queue`
	rows, err := s.pool.Query(ctx, q)
	if err != nil {
		return ServerFacts{}, fmt.Errorf("ask the server: %w", err)
	}
	facts, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[ServerFacts])
	if err != nil {
		return ServerFacts{}, fmt.Errorf("ask the server: %w", err)
	}
	return facts, nil
}

// Clock is the database's clock at one moment.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	const q = `-- doctor_clock
SELECT clock_timestamp()`
	var now time.Time
	if err := s.pool.QueryRow(ctx, q).Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now, nil
}

// MissingPrivileges lists what the role that asks lacks of what a sidecar needs, such as "INSERT on rowrun.task_run".
func (s *Store) MissingPrivileges(ctx context.Context) ([]string, error) {
	// What rowrun_replica may do is what a sidecar needs. The first few stand here by name, in case that role has lost
	// its own: a dump holds neither roles nor what was granted to them.
	const q = `-- doctor_privileges
WITH replica AS (SELECT to_regrole('rowrun_replica')::oid AS role)
SELECT p.privilege || ' on ' || p.tab
FROM (VALUES
    ('rowrun.deployment', 'SELECT'), ('rowrun.migration', 'SELECT'), ('rowrun.schema_object', 'SELECT'), ('rowrun.code_version', 'SELECT'), ('rowrun.plan', 'UPDATE'), ('rowrun.task', 'UPDATE'),
    ('rowrun.task_run', 'INSERT'), ('rowrun.task_run', 'UPDATE'), ('rowrun.replica_heartbeat', 'INSERT'),
    ('rowrun.replica_heartbeat', 'UPDATE'), ('rowrun.webhook', 'SELECT'), ('rowrun.webhook_delivery', 'UPDATE')) p(tab, privilege)
WHERE to_regclass(p.tab) IS NOT NULL AND NOT has_table_privilege(to_regclass(p.tab), p.privilege)
UNION
SELECT p.privilege || ' on ' || c.oid::regclass
FROM replica, pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p(privilege)
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'v')
  AND has_table_privilege(replica.role, c.oid, p.privilege) AND NOT has_table_privilege(c.oid, p.privilege)
UNION
SELECT p.privilege || ' on columns of ' || c.oid::regclass
FROM replica, pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) p(privilege)
WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'v')
  AND has_any_column_privilege(replica.role, c.oid, p.privilege) AND NOT has_any_column_privilege(c.oid, p.privilege)
  AND NOT has_table_privilege(replica.role, c.oid, p.privilege)
UNION
SELECT 'EXECUTE on ' || f.oid::regprocedure
FROM replica, pg_proc f
WHERE f.pronamespace = 'rowrun'::regnamespace AND has_function_privilege(replica.role, f.oid, 'EXECUTE') AND NOT has_function_privilege(f.oid, 'EXECUTE')
ORDER BY 1`
	return collect[string](ctx, s, "read privileges", q, pgx.RowTo[string])
}

// TableDebt is what autovacuum has still to do on a table.
type TableDebt struct {
	Table      string
	Live, Dead int64 // rows, as far as the statistics know
	// VacuumedAgo is how long ago the last vacuum was; nil: never.
	VacuumedAgo *float64
}

// TableDebts lists Rowrun's tables.
func (s *Store) TableDebts(ctx context.Context) ([]TableDebt, error) {
	const q = `-- doctor_vacuum
SELECT relname, n_live_tup, n_dead_tup,
       extract(epoch FROM clock_timestamp() - greatest(last_vacuum, last_autovacuum))::float8
FROM pg_stat_user_tables WHERE schemaname = 'rowrun' ORDER BY relname`
	return collect(ctx, s, "read vacuum statistics", q, pgx.RowToStructByPos[TableDebt])
}

// SnapshotHolder keeps dead rows from being removed.
type SnapshotHolder struct {
	Kind string // session, prepared or slot
	Name string // its process id, its transaction's name, or its own
	Who  string // application and role; of a slot who reads it
	// Seconds is for how long; nil of a slot, or of a standby that holds one, which have no clock.
	Seconds      *float64
	Transactions int64 // how many transactions have begun since
}

// SnapshotHolders lists the five that hold the oldest snapshots, the oldest first; the session that asks is none.
func (s *Store) SnapshotHolders(ctx context.Context) ([]SnapshotHolder, error) {
	const q = `-- doctor_snapshots
SELECT kind, name, who, seconds, transactions FROM (
    SELECT 'session' AS kind, a.pid::text AS name, coalesce(nullif(a.application_name, ''), 'a session') || ' of ' || coalesce(a.usename, '?') AS who,
           extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS transactions
    FROM pg_stat_activity a
    WHERE coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
      AND (a.datname = current_database() OR a.backend_type = 'walsender')
    UNION ALL
    SELECT 'prepared', p.gid, 'a prepared transaction of ' || p.owner, extract(epoch FROM clock_timestamp() - p.prepared)::float8, age(p.transaction)::bigint
    FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'slot', r.slot_name, coalesce('read by ' || coalesce(nullif(a.application_name, ''), 'a session') || ' of ' || a.usename || ', pid ' || r.active_pid, 'read by nobody')
               || coalesce(', of database ' || r.database, ''),
           NULL, greatest(age(r.xmin), age(r.catalog_xmin))::bigint
    FROM pg_replication_slots r LEFT JOIN pg_stat_activity a ON a.pid = r.active_pid
    WHERE coalesce(r.xmin, r.catalog_xmin) IS NOT NULL
) h ORDER BY transactions DESC NULLS LAST, seconds DESC NULLS LAST LIMIT 5`
	return collect(ctx, s, "read who holds snapshots", q, pgx.RowToStructByPos[SnapshotHolder])
}

// Slot is a replication slot of Rowrun's in this database.
type Slot struct {
	Name   string
	Ours   bool // this deployment's; otherwise one that an earlier one left
	Active bool
	Status string // wal_status: reserved, extended, unreserved or lost
	Lag    int64  // bytes of write-ahead log that it holds back
}

// Slots lists them.
func (s *Store) Slots(ctx context.Context) ([]Slot, error) {
	const q = `-- doctor_slots
SELECT r.slot_name, r.slot_name = ` + slotName + `, r.active, coalesce(r.wal_status, ''),
       coalesce(CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), r.restart_lsn) END, 0)::bigint
FROM pg_replication_slots r
WHERE r.database = current_database() AND r.slot_name LIKE 'rowrun\_stream\_%' ORDER BY 1`
	return collect(ctx, s, "read slots", q, pgx.RowToStructByPos[Slot])
}

// Orphan is work that no live replica can take.
type Orphan struct {
	Queue, Type string
	Database    string // target that SQL types need, "" where none is named
	RunID       int64  // one of the runs
}

// Orphans lists up to 100 of the kinds of runs that wait for a replica.
func (s *Store) Orphans(ctx context.Context) ([]Orphan, error) {
	// The indexes are skipped through from one kind to the next: a million runs of one kind are one step.
	const q = `-- doctor_orphans
WITH RECURSIVE available AS (
    (SELECT r.queue, r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue, r.type LIMIT 1)
    UNION ALL
    SELECT n.queue, n.type FROM available a CROSS JOIN LATERAL (
        SELECT r.queue, r.type FROM rowrun.task_run r
        WHERE r.status = 'AVAILABLE' AND (r.queue, r.type) > (a.queue, a.type) ORDER BY r.queue, r.type LIMIT 1) n
), held AS (
    (SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
     WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND r.database_id IS NOT NULL ORDER BY r.queue, r.type, r.database_id LIMIT 1)
    UNION ALL
    SELECT n.queue, n.type, n.database_id FROM held h CROSS JOIN LATERAL (
        SELECT r.queue, r.type, r.database_id FROM rowrun.task_run r
        WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND (r.queue, r.type, r.database_id) > (h.queue, h.type, h.database_id)
        ORDER BY r.queue, r.type, r.database_id LIMIT 1) n
), limited AS (
    (SELECT r.queue, r.type FROM rowrun.task_run r
     WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND r.database_id IS NULL ORDER BY r.queue, r.type LIMIT 1)
    UNION ALL
    SELECT n.queue, n.type FROM limited l CROSS JOIN LATERAL (
        SELECT r.queue, r.type FROM rowrun.task_run r
        WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' AND r.database_id IS NULL AND (r.queue, r.type) > (l.queue, l.type)
        ORDER BY r.queue, r.type LIMIT 1) n
), kinds AS (
    SELECT queue, type, NULL AS database_id, 'AVAILABLE' AS status FROM (SELECT queue, type FROM available LIMIT 100) a
    UNION ALL
    SELECT queue, type, database_id, 'PENDING' FROM (SELECT queue, type, database_id FROM held LIMIT 100) h
    UNION ALL
    SELECT queue, type, NULL, 'PENDING' FROM (SELECT queue, type FROM limited LIMIT 100) l
)
SELECT k.queue, k.type, coalesce(k.database_id, ''), one.id
FROM kinds k CROSS JOIN LATERAL (
    SELECT r.id FROM rowrun.task_run r
    WHERE r.status = k.status AND r.queue = k.queue AND r.type = k.type AND (k.database_id IS NULL OR r.database_id = k.database_id)
      AND (k.status = 'AVAILABLE' OR r.hold = 'REPLICA') LIMIT 1) one
WHERE NOT EXISTS (
    SELECT FROM rowrun.replica_heartbeat h
    WHERE rowrun.takes(h, clock_timestamp(), k.queue, k.type, k.database_id, NULL))
ORDER BY 1, 2, 3 LIMIT 100`
	return collect(ctx, s, "look for runs without a replica", q, pgx.RowToStructByPos[Orphan])
}

// collect reads all rows of a question.
func collect[T any](ctx context.Context, s *Store, what, q string, to pgx.RowToFunc[T]) ([]T, error) {
	rows, err := s.pool.Query(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	all, err := pgx.CollectRows(rows, to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}
