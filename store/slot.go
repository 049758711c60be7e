package store

import (
	"context"
	"fmt"
)

// StreamPublication is what the stream's slot reads.
const StreamPublication = "rowrun_stream"

// StreamSlotName is the name of a deployment's replication slot. Slots belong to a server, not to a database.
func StreamSlotName(deployment string) string {
	return "rowrun_stream_" + deployment[:min(8, len(deployment))]
}

// SlotState is what the server says of the deployment's slot.
type SlotState struct {
	// WALLevel is the server's wal_level; the stream needs logical.
	WALLevel string
	// KeepMB is max_slot_wal_keep_size in MB: how much log a slot may hold back; below 0: without a bound.
	KeepMB int64
	// MayReplicate says that this role has REPLICATION.
	MayReplicate bool
	// Published says that the publication exists.
	Published bool
	// Name is the deployment's slot.
	Name string
	// Exists says that there is a slot of that name; Ours that it is one of this database for the stream.
	Exists, Ours bool
	// Active says that somebody reads from it.
	Active bool
	// Status is pg_replication_slots.wal_status: reserved, extended, unreserved or lost; "" without a slot.
	Status string
	// Confirmed is up to where it was read, as PostgreSQL writes it; "" without a slot.
	Confirmed string
	// Failover says that standbys keep it in step with their primary's, as far as they are set to (PostgreSQL 17 and later); Synced that this
	// server was such a standby, and was promoted since.
	Failover, Synced bool
	// LagBytes is how much log was written since Confirmed; 0 without a slot.
	LagBytes int64
}

// StreamSlot asks for the deployment's slot and for what it needs.
func (s *Store) StreamSlot(ctx context.Context) (SlotState, error) {
	var slot SlotState
	err := s.pool.QueryRow(ctx, statement("stream_slot"), StreamPublication).Scan(&slot.WALLevel, &slot.KeepMB, &slot.MayReplicate, &slot.Published,
		&slot.Name, &slot.Exists, &slot.Ours, &slot.Active, &slot.Status, &slot.Confirmed, &slot.LagBytes, &slot.Failover, &slot.Synced)
	if err != nil {
		return SlotState{}, fmt.Errorf("look at the stream's slot: %w", err)
	}
	return slot, nil
}

// Unfit says why the stream can't be read from the log here; "" where it can. asked: somebody asked for it, so that a
// slot without a bound is theirs to watch.
func (s SlotState) Unfit(asked bool) string {
	switch {
	case s.WALLevel != "logical":
		return "wal_level is " + s.WALLevel + ", not logical"
	case !s.MayReplicate:
		return "the role has no REPLICATION"
	case !s.Published:
		return "the publication " + StreamPublication + " is missing"
	case s.Exists && !s.Ours:
		return "the slot " + s.Name + " belongs to something else"
	case s.KeepMB < 0 && !asked:
		return "max_slot_wal_keep_size is not set: a slot that nobody reads would fill the disk"
	}
	return ""
}

// DropStreamSlot drops the slot and forgets its positions: the next one begins anew, without a gap of its own. False:
// there was none. A slot that is read from can't be dropped (SQLSTATE 55006).
func (s *Store) DropStreamSlot(ctx context.Context, name string, forget bool) (dropped bool, err error) {
	tag, err := s.pool.Exec(ctx, statement("drop_stream_slot"), name)
	if err != nil {
		return false, fmt.Errorf("drop the stream's slot: %w", err)
	}
	if forget {
		if _, err := s.pool.Exec(ctx, statement("forget_stream_positions")); err != nil {
			return false, fmt.Errorf("forget the stream's positions: %w", err)
		}
	}
	return tag.RowsAffected() > 0, nil
}
