package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// shortReplica is a replica's id as tables show it: its name and the beginning of what tells it from others of that name.
// The commands that take an id take this too.
func shortReplica(id string) string {
	const tail, kept = 36, 8 // a UUID, and its first digits
	if len(id) <= tail || id[len(id)-tail-1] != '-' || strings.Count(id[len(id)-tail:], "-") != 4 {
		return id
	}
	return id[:len(id)-tail+kept]
}

// wholeReplica is the id or name that text stands for: one of a live replica whose id begins with it, or text itself.
func wholeReplica(ctx context.Context, s *store.Store, text string) (string, error) {
	status, err := s.Status(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, r := range status.Replicas {
		if r.ReplicaID == text || r.Name == text {
			return text, nil
		}
		if shortReplica(r.ReplicaID) == text {
			found = append(found, r.ReplicaID)
		}
	}
	switch len(found) {
	case 0:
		return text, nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s is the beginning of several ids: %s", cli.Printable(text), cli.Printable(strings.Join(found, ", ")))
}
