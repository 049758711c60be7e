package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Unseen are the transactions that a snapshot doesn't show, by their ids: those of others that are under way, from Oldest
// on, and all from Next on. Where none is under way both are the same. The zero value says nothing.
type Unseen struct{ Oldest, Next uint64 }

// parseSnapshot reads a pg_snapshot, xmin:xmax:xip,... in ascending order. The session's own transaction is not in its
// list, but may be its xmin.
func parseSnapshot(text string) (Unseen, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Unseen{}, fmt.Errorf("%q is no snapshot", text)
	}
	next, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return Unseen{}, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	first, _, _ := strings.Cut(parts[2], ",")
	if first == "" {
		return Unseen{Oldest: next, Next: next}, nil
	}
	oldest, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return Unseen{}, fmt.Errorf("%q is no snapshot: %w", text, err)
	}
	return Unseen{Oldest: oldest, Next: next}, nil
}
