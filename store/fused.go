package store

import "github.com/jackc/pgx/v5"

// handing is the part of a round trip that claims what a statement of the same trip promotes, in one version of each run's row
// (rowrun.make_running): for the slots that AVAILABLE runs have left, which might come before.
type handing struct {
	args   []any // from the hashes on: what the statements ask for
	keys   []key
	used   int // how many of the keys runs have got
	claims []Claim
}

// hand prepares the claim of at most so many runs.
func (s *Store) hand(w Capabilities, most int) *handing {
	keys, hashes := s.keys.take(most)
	return &handing{args: freshArgs(w, hashes), keys: keys}
}

func freshArgs(w Capabilities, hashes []byte) []any {
	return []any{hashes, seconds(w.DefaultTimeout), list(w.Queues), w.fresh(), list(w.Databases), list(w.Commands)}
}

// collect reads an answer whose rows begin with columns of the statement's own.
func (h *handing) collect(rows pgx.Rows, before ...any) (err error) {
	h.claims, h.used, _, _, err = collectClaims(rows, h.keys, before...)
	for i := range h.claims {
		h.claims[i].Fresh = true
	}
	return err
}

// handed takes the claims of a trip that was answered, and keeps the keys that no run has got.
func (s *Store) handed(h *handing) []Claim {
	if h == nil {
		return nil
	}
	s.keys.giveBack(h.keys[h.used:])
	return h.claims
}
