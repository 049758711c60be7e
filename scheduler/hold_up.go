package scheduler

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// blockedFor is how long a statement takes at most before it is asked who blocks it, but for short leases.
	blockedFor = 3 * time.Second
	// heldFor is how long a lock is found to be held before it is said.
	heldFor = 2 * time.Second
	// blockedUntil is how long an answer counts.
	blockedUntil = 10 * time.Second
)

// holdUps are the sessions of others that hold locks which this replica goes without or waits for.
type holdUps struct {
	mu        sync.Mutex
	since     map[string]time.Time // by lockOf: what the last survey found
	confirmed []store.HoldUp       // what has been found for long enough
	blocked   []store.HoldUp       // what statements of this replica wait for
	blockedAt time.Time
	said      []store.HoldUp
	underWay  map[int]time.Time // statements of passes and endings
	next      int
}

// begin notes that a statement is sent that may have to wait; end is to be called with its answer.
func (h *holdUps) begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.underWay == nil {
		h.underWay = map[int]time.Time{}
	}
	n := h.next
	h.next++
	h.underWay[n] = time.Now()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.underWay, n)
	}
}

// longest is how long the oldest of them has been under way.
func (h *holdUps) longest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	longest := time.Duration(0)
	for _, at := range h.underWay {
		longest = max(longest, time.Since(at))
	}
	return longest
}

// all are those that are sure.
func (h *holdUps) all() []store.HoldUp {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sure()
}

func (h *holdUps) sure() []store.HoldUp {
	sure := slices.Clone(h.confirmed)
	if time.Since(h.blockedAt) < blockedUntil {
		sure = append(sure, h.blocked...)
	}
	return sure
}

// found says whether the last survey that was asked found some.
func (h *holdUps) found() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.since) > 0
}

// lockOf is what two looks have to find for it to be no lock of a moment. Sessions of ours hold rows too, each for a moment: there it
// is the session. What is kept from happening by a lock that nobody of ours takes stays so while sessions relieve each other.
func lockOf(h store.HoldUp) string {
	if strings.HasPrefix(h.What, "keeps ") {
		return h.What
	}
	if h.PID == 0 {
		return h.Who()
	}
	return strconv.FormatInt(h.PID, 10)
}

// surveyed is told what a survey found: what others have found for heldFor is no lock of a moment.
func (h *holdUps) surveyed(found []store.HoldUp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, before := time.Now(), h.since
	h.since, h.confirmed = map[string]time.Time{}, nil
	for _, f := range found {
		lock := lockOf(f)
		first, known := before[lock]
		if !known {
			first = now
		}
		h.since[lock] = first
		if now.Sub(first) >= heldFor {
			h.confirmed = append(h.confirmed, f)
		}
	}
}

// news are those that have not been said, and those that are over.
func (h *holdUps) news() (came, went []store.HoldUp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sure := h.sure()
	for _, s := range sure {
		if !slices.Contains(h.said, s) {
			came = append(came, s)
		}
	}
	for _, s := range h.said {
		if !slices.Contains(sure, s) {
			went = append(went, s)
		}
	}
	h.said = sure
	return came, went
}

// watchHoldUps asks who blocks this replica while a statement of it takes long, and says who holds it up, until ctx
// ends. While nothing takes long it sends nothing.
func (t *incarnation) watchHoldUps(ctx context.Context) {
	h := &t.s.holdUps
	long := min(blockedFor, t.s.cfg.StaleAfter*15/100)
	for ctx.Err() == nil {
		sleep(ctx, min(long, time.Second))
		if h.longest() >= long {
			ask, cancel := context.WithTimeout(ctx, blockedFor)
			found, err := t.s.cfg.Store.Blockers(ask)
			cancel()
			if err == nil && len(found) > 0 {
				h.mu.Lock()
				h.blocked, h.blockedAt = found, time.Now()
				h.mu.Unlock()
			}
		}
		came, went := h.news()
		for _, c := range came {
			t.s.cfg.Log.Warn().Int64("pid", c.PID).Str("user", c.User).Msg("held up: " + c.String())
		}
		for _, w := range went {
			t.s.cfg.Log.Info().Int64("pid", w.PID).Str("user", w.User).Msg("no longer held up: " + w.Who() + " " + w.What)
		}
	}
}
