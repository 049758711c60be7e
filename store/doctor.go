package store

import (
	"context"

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
	ReadOnly          bool   // default_transaction_read_only
	Isolation         string // the role's default_transaction_isolation; the session that asks has its own
	NotifyQueue       float64
}

// ServerFacts asks the server; it needs no schema.
func (s *Store) ServerFacts(ctx context.Context) (ServerFacts, error) {
	return collectOne(ctx, s, "ask the server", statement("doctor_server"), pgx.RowToStructByName[ServerFacts])
}

// MissingPrivileges lists what the role that asks lacks of what a sidecar needs, such as "INSERT on rowrun.task_run".
func (s *Store) MissingPrivileges(ctx context.Context) ([]string, error) {
	return collect[string](ctx, s, "read privileges", statement("doctor_privileges"), pgx.RowTo[string])
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
	return collect(ctx, s, "read vacuum statistics", statement("doctor_vacuum"), pgx.RowToStructByPos[TableDebt])
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
	return collect(ctx, s, "read who holds snapshots", statement("doctor_snapshots"), pgx.RowToStructByPos[SnapshotHolder])
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
	return collect(ctx, s, "read slots", statement("doctor_slots"), pgx.RowToStructByPos[Slot])
}

// StreamWait is what a writer of the stream may wait for that reads neither the log nor rows.
type StreamWait struct {
	Slot bool   // there is one for it
	Kind string // of the oldest transaction that has written: session or prepared; "": there is none
	Name string // its process id, or its own
	Who  string // application and role, or the owner
	// Database is where it is open.
	Database string
}

// StreamWait says for what the stream's writer waits; nil: it reads, or there is none.
func (s *Store) StreamWait(ctx context.Context) (*StreamWait, error) {
	waits, err := collect(ctx, s, "look whether the stream is read", statement("doctor_stream"), pgx.RowToStructByPos[StreamWait])
	if err != nil || len(waits) == 0 {
		return nil, err
	}
	return &waits[0], nil
}

// Orphan is work that no live replica can take.
type Orphan struct {
	Queue, Type string
	Database    string // target that SQL types need, "" where none is named
	RunID       int64  // one of the runs
}

// Orphans lists up to 100 of the kinds of runs that wait for a replica.
func (s *Store) Orphans(ctx context.Context) ([]Orphan, error) {
	return collect(ctx, s, "look for runs without a replica", statement("doctor_orphans"), pgx.RowToStructByPos[Orphan])
}
