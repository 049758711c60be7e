package scheduler

import (
	"sync"
	"time"

	"github.com/rowrun/rowrun/store"
)

// unable is since when passes fail, and why. The zero value says that they don't.
type unable struct {
	mu    sync.Mutex
	since time.Time
	why   string
}

func (u *unable) failed(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since.IsZero() {
		u.since = time.Now()
	}
	u.why = store.Reason(err)
}

func (u *unable) ok() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.since, u.why = time.Time{}, ""
}

// read is for how long passes have failed, 0: they don't.
func (u *unable) read() (d time.Duration, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since.IsZero() {
		return 0, ""
	}
	return max(time.Since(u.since), 1), u.why
}
