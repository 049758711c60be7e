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
	const identities = `-- doctor_identities
SELECT format('SELECT %L, %L, CASE WHEN s.is_called THEN s.last_value + 1 ELSE s.last_value END AS next, coalesce((SELECT max(t.%I) FROM %s t), 0) AS behind FROM %s s',
              q.seq, c.oid::regclass::text, a.attname, c.oid::regclass, q.seq)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> '' AND NOT a.attisdropped
CROSS JOIN LATERAL (SELECT pg_get_serial_sequence(c.oid::regclass::text, a.attname)) q(seq)
WHERE c.relnamespace = to_regnamespace('rowrun') AND c.relkind = 'r'
  AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY c.relname`
	questions, err := collect(ctx, s, "list identity sequences", identities, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var behind []Sequence
	for _, q := range questions {
		found, err := collect(ctx, s, "read a sequence", "-- doctor_sequence\n"+q, pgx.RowToStructByPos[Sequence])
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
