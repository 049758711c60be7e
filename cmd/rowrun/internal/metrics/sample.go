package metrics

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// sampleSize is how many runs at most are asked about at once, and every how often.
	sampleSize  = 200
	sampleEvery = time.Second
	// askTimeout bounds each question to the database.
	askTimeout = 2 * time.Second
)

// sample keeps the first runs that are claimed after a question.
func (m *Metrics) sample(claims []store.Claim) {
	m.mu.Lock()
	for i := range claims {
		if len(m.claimed) == sampleSize {
			break
		}
		m.claimed = append(m.claimed, claims[i].ID)
	}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run asks how long the sampled runs had waited, until ctx ends; it returns nil. A question that fails is not repeated:
// these runs are missing in the histogram.
func (m *Metrics) Run(ctx context.Context) error {
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.wake:
		}
		if !pause(ctx, sampleEvery) {
			return nil
		}
		m.mu.Lock()
		ids := m.claimed
		m.claimed = nil
		m.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		ask, cancel := context.WithTimeout(ctx, askTimeout)
		delays, err := m.config.Store.StartDelays(ask, ids)
		cancel()
		if err != nil && !failed && ctx.Err() == nil {
			m.config.Log.Warn().Str("error", store.Reason(err)).Msg("how long runs wait could not be read")
		}
		failed = err != nil
		for _, delay := range delays {
			m.toStart.Observe(delay.Seconds())
			if m.config.Started != nil {
				m.config.Started(delay)
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
