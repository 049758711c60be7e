package store

import (
	"crypto/sha256"
	"sync"

	"github.com/google/uuid"
)

// key is a claim that no run has got yet: a random uuid, and its SHA-256, which is all that the database is told.
type key struct {
	claim uuid.UUID
	hash  [sha256.Size]byte
}

// hashOf is what the table holds of a claim; nil of what is none.
func hashOf(claim string) []byte {
	id, err := uuid.Parse(claim)
	if err != nil {
		return nil
	}
	hash := sha256.Sum256(id[:])
	return hash[:]
}

// keyring keeps the keys that passes were given and did not need, so that a pass costs a key for each run that it claims
// and not for each that it could have claimed.
type keyring struct {
	mu    sync.Mutex
	spare []key
}

// take hands out n keys, and their hashes one behind the other.
func (r *keyring) take(n int) (keys []key, hashes []byte) {
	r.mu.Lock()
	kept := max(0, len(r.spare)-n)
	keys = append(make([]key, 0, n), r.spare[kept:]...)
	r.spare = r.spare[:kept]
	r.mu.Unlock()
	for len(keys) < n {
		id := uuid.New()
		keys = append(keys, key{claim: id, hash: sha256.Sum256(id[:])})
	}
	hashes = make([]byte, 0, n*sha256.Size)
	for i := range keys {
		hashes = append(hashes, keys[i].hash[:]...)
	}
	return keys, hashes
}

// giveBack takes keys that no run has got, for certain: not those of a pass whose answer was lost.
func (r *keyring) giveBack(keys []key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = append(r.spare, keys...)
}
