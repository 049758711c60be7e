package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrNoReplica says that no live replica has the id or name that was asked for.
var ErrNoReplica = errors.New("there is no live replica of that id or name")

// PauseReplica has the live replicas of an id or name claim nothing, or claim again; their ids. ErrNoReplica: there is
// none.
func (s *Store) PauseReplica(ctx context.Context, replica string, pause bool) ([]string, error) {
	if pause {
		return s.askReplicas(ctx, "pause replica", statement("pause_replica"), replica)
	}
	return s.askReplicas(ctx, "resume replica", statement("resume_replica"), replica)
}

// AskDrain has the live replicas of an id or name claim nothing, end what they run and stop, from their next heartbeat on;
// their ids. ErrNoReplica: there is none.
func (s *Store) AskDrain(ctx context.Context, replica string) ([]string, error) {
	return s.askReplicas(ctx, "drain replica", statement("ask_drain"), replica)
}

// askReplicas calls one of the functions that find replicas by id or name.
func (s *Store) askReplicas(ctx context.Context, what, q, replica string) ([]string, error) {
	rows, err := s.pool.Query(ctx, q, replica)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if SQLState(err) == "P0002" {
		return nil, fmt.Errorf("%s: %w", what, ErrNoReplica)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return ids, nil
}

// ClaimRules are what a replica follows in claiming: the rules of types, up to 1,000, and whether it is to claim nothing.
// It may where its row is gone.
func (s *Store) ClaimRules(ctx context.Context, replicaID string) (rules []TypeRule, paused bool, err error) {
	rows, err := s.pool.Query(ctx, statement("claim_rules"), replicaID)
	if err != nil {
		return nil, false, fmt.Errorf("read what may be claimed: %w", err)
	}
	var rule TypeRule
	var found bool
	_, err = pgx.ForEachRow(rows, []any{&paused, &found, &rule.Type, &rule.Draining, &rule.AliasOf, &rule.Mapping}, func() error {
		if found {
			rules = append(rules, rule)
			rule.Mapping = nil // the next is read into a place of its own
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read what may be claimed: %w", err)
	}
	return rules, paused, nil
}
