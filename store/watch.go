package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Watched is a run that a replica executes, and the claim under which it does. After a failover, or where a sequence was begun
// anew, one id may have been given to two runs.
type Watched struct {
	ID    int64
	Claim string
}

// Held is how a run that a replica executes stands in the table.
type Held struct {
	Watched
	// Lost: it is not RUNNING under this replica and this claim any more; who executes it must stop.
	Lost bool
	// CancelRequested: a cancel was asked for.
	CancelRequested bool
	// Silent is how long ago its start or last progress was.
	Silent time.Duration
}

// Watch tells how the runs that a replica executes stand. Runs that have been removed are missing.
func (s *Store) Watch(ctx context.Context, replicaID string, executed []Watched) ([]Held, error) {
	ids := make([]int64, len(executed))
	for i, w := range executed {
		ids[i] = w.ID
	}
	rows, err := s.pool.Query(ctx, statement("watch_runs"), replicaID, ids)
	if err != nil {
		return nil, fmt.Errorf("watch runs: %w", err)
	}
	found := make(map[int64]Held, len(executed))
	hashes := make(map[int64][]byte, len(executed))
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (int64, error) {
		var h Held
		var hash []byte
		var silent *float64
		err := row.Scan(&h.ID, &h.Lost, &hash, &h.CancelRequested, &silent)
		h.Silent = fromSeconds(silent)
		found[h.ID], hashes[h.ID] = h, hash
		return h.ID, err
	})
	if err != nil {
		return nil, fmt.Errorf("watch runs: %w", err)
	}
	held := make([]Held, 0, len(executed))
	for _, w := range executed {
		h, there := found[w.ID]
		if !there {
			continue
		}
		h.Claim = w.Claim
		h.Lost = h.Lost || !bytes.Equal(hashes[w.ID], hashOf(w.Claim))
		held = append(held, h)
	}
	return held, nil
}
