package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Sequence is one that draws the ids of a table of ours and is behind them.
type Sequence struct {
	Name   string // schema.name, quoted where it has to be
	Table  string
	Next   int64 // what it draws next
	Behind int64 // the largest id of the table
}

// SequencesBehind lists the identity sequences of schema rowrun that will draw ids which stand in their tables already:
// rows that were restored or inserted with ids of their own. Tables that the role may not read are left out.
func (s *Store) SequencesBehind(ctx context.Context) ([]Sequence, error) {
	questions, err := collect(ctx, s, "list identity sequences", statement("doctor_identities"), pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var behind []Sequence
	for _, q := range questions {
		found, err := collect(ctx, s, "read a sequence", q, pgx.RowToStructByPos[Sequence])
		if err != nil {
			return nil, err
		}
		for _, sequence := range found {
			if sequence.Behind >= sequence.Next {
				behind = append(behind, sequence)
			}
		}
	}
	return behind, nil
}
