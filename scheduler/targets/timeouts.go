package targets

import (
	"fmt"
	"math"
	"time"
)

// MaxTimeout is the longest time that a target can be told: PostgreSQL's settings and SQLite's are 32 bits of milliseconds, 24 days.
const MaxTimeout = math.MaxInt32 * time.Millisecond

// CheckTimeouts refuses a lock_timeout and a statement_timeout that no target can be told.
func CheckTimeouts(lock, statement time.Duration) error {
	for _, timeout := range []struct {
		name  string
		value time.Duration
	}{{"lock_timeout", lock}, {"statement_timeout", statement}} {
		switch {
		case timeout.value < 0:
			return fmt.Errorf("%s is negative", timeout.name)
		case timeout.value > MaxTimeout:
			return fmt.Errorf("%s: %s is not accepted; accepted: at most %s, or 0 for that of the server", timeout.name, timeout.value, MaxTimeout)
		}
	}
	return nil
}
