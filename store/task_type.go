package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// TypeRule says how a type of task goes.
type TypeRule struct {
	Type     string
	Draining bool            // nothing new of it is claimed
	AliasOf  string          // "": none; whose executor runs it
	Mapping  json.RawMessage // nil: none; top-level keys of the payload, {"old": "new"}, null leaves one out
}

// TypeRules reads the rules there are, up to 1,000.
func (s *Store) TypeRules(ctx context.Context) ([]TypeRule, error) {
	return collect(ctx, s, "read type rules", statement("type_rules"), pgx.RowToStructByPos[TypeRule])
}

// AnnounceTypes says which types a replica runs from now on.
func (s *Store) AnnounceTypes(ctx context.Context, replicaID string, types []string) error {
	if _, err := s.pool.Exec(ctx, statement("announce_types"), replicaID, list(types)); err != nil {
		return fmt.Errorf("announce types: %w", err)
	}
	return nil
}

// DrainType has replicas claim no further run of a type, or again.
func (s *Store) DrainType(ctx context.Context, name string, draining bool) error {
	if _, err := s.pool.Exec(ctx, statement("drain_type"), name, draining); err != nil {
		return fmt.Errorf("drain type: %w", err)
	}
	return nil
}

// AliasType has the executor of type to run runs of type from; to "": not any more. mapping may be nil.
func (s *Store) AliasType(ctx context.Context, from, to string, mapping json.RawMessage) error {
	var text *string
	if mapping != nil {
		m := string(mapping)
		text = &m
	}
	if _, err := s.pool.Exec(ctx, statement("alias_type"), from, to, text); err != nil {
		return fmt.Errorf("alias type: %w", err)
	}
	return nil
}

// TypeLeft is what goes on of a type.
type TypeLeft struct {
	Replicas int64 // live replicas that claim runs of it
	Running  int64
}

// TypeLeft counts who still claims runs of a type, and which are RUNNING.
func (s *Store) TypeLeft(ctx context.Context, name string) (TypeLeft, error) {
	var left TypeLeft
	if err := s.pool.QueryRow(ctx, statement("type_left"), name).Scan(&left.Replicas, &left.Running); err != nil {
		return TypeLeft{}, fmt.Errorf("count what is left of a type: %w", err)
	}
	return left, nil
}

// TypeStatus is a type of tasks and how it stands.
type TypeStatus struct {
	Type      string          `json:"type"`
	Replicas  int64           `json:"replicas"` // live ones that run it
	Tasks     int64           `json:"tasks"`
	Pending   int64           `json:"pending"`
	Available int64           `json:"available"`
	Running   int64           `json:"running"`
	Orphans   int64           `json:"orphans"` // of those that wait, how many no live replica could run
	Draining  bool            `json:"draining"`
	AliasOf   *string         `json:"alias_of"`
	Mapping   json.RawMessage `json:"mapping"`
}

// ListTypes lists every type that a task, a run that isn't over, a live replica or a rule names. It reads all tasks and
// all runs that are not over.
func (s *Store) ListTypes(ctx context.Context) ([]TypeStatus, error) {
	return collect(ctx, s, "list types", statement("list_types"), pgx.RowToStructByPos[TypeStatus])
}

// purgeBatch is how many runs PurgeType cancels in one transaction.
const purgeBatch = 500

// PurgeType cancels the PENDING and AVAILABLE runs of a type that were inserted that long ago; how many. Runs that are
// inserted meanwhile stay: a tick that is canceled inserts the next one of its schedule, which would be canceled in turn.
func (s *Store) PurgeType(ctx context.Context, name string, older time.Duration) (int64, error) {
	var last, sum int64
	if err := s.pool.QueryRow(ctx, statement("last_of_type"), name).Scan(&last); err != nil {
		return 0, fmt.Errorf("purge type: %w", err)
	}
	for after := int64(0); ; {
		var found, canceled int64
		err := s.pool.QueryRow(ctx, statement("purge_type"), name, seconds(older), after, last, purgeBatch).Scan(&after, &found, &canceled)
		if err != nil {
			return sum, fmt.Errorf("purge type: %w", err)
		}
		sum += canceled
		if found < purgeBatch {
			return sum, nil
		}
	}
}

// CountPurge counts what PurgeType would cancel.
func (s *Store) CountPurge(ctx context.Context, name string, older time.Duration) (int64, error) {
	var n int64
	if err := s.pool.QueryRow(ctx, statement("count_purge"), name, seconds(older)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count runs of a type: %w", err)
	}
	return n, nil
}
