package api

import (
	"context"
	"sync"
	"time"
)

// kept is an answer that is given again for a while: however many pages ask, the database is asked once.
type kept[T any] struct {
	life time.Duration
	mu   sync.Mutex
	at   time.Time
	last T
}

// forget has the next get ask.
func (k *kept[T]) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = time.Time{}
}

// get asks where the last answer is too old. Who comes meanwhile waits for that one.
func (k *kept[T]) get(ctx context.Context, ask func(ctx context.Context) (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.at.IsZero() && time.Since(k.at) < k.life {
		return k.last, nil
	}
	value, err := ask(ctx)
	if err != nil {
		return value, err
	}
	k.last, k.at = value, time.Now()
	return value, nil
}
