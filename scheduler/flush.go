package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

// errUntaken says that the database answers and doesn't take what is left.
var errUntaken = errors.New("the database has not taken them, for locks of others or because it refuses them; they are tried again")

// note keeps whether the database answered that it doesn't take these: a lock of somebody else's holds them, or it refuses them.
// r.mu is held.
func (r *recorder) note(err error, endings ...ending) {
	untaken := store.SQLState(err) == "55P03" || store.OneByOne(err)
	for _, e := range endings {
		if _, known := r.pending[e.store.Claim]; known && untaken {
			r.untaken[e.store.Claim] = true
		} else {
			delete(r.untaken, e.store.Claim)
		}
	}
}

// left says whether endings of a replica id are still to be recorded, or of any with "", whether the database answered and did
// not take them for each of these, and what is closed when something settles.
func (r *recorder) left(replica string) (some, untaken bool, settled <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	untaken = true
	for claim, p := range r.pending {
		if replica == "" || p.replica == replica {
			some = true
			untaken = untaken && r.untaken[claim]
		}
	}
	return some, untaken, r.settled
}

// flush waits until every ending of a replica id, of any with "", is recorded or refused. With a patience it waits no longer than that for
// the database to take one of them while it answers (errUntaken).
func (r *recorder) flush(ctx context.Context, replica string, patience time.Duration) error {
	look := time.Second
	if patience > 0 {
		look = min(max(patience/4, 10*time.Millisecond), look)
	}
	var since time.Time // from when on none was taken; zero: the database is away, or busy with them
	for {
		some, untaken, settled := r.left(replica)
		switch {
		case !some:
			return nil
		case patience == 0 || !untaken:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= patience:
			return errUntaken
		}
		timer := time.NewTimer(look)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-settled:
			since = time.Time{}
		case <-timer.C:
		}
		timer.Stop()
	}
}
