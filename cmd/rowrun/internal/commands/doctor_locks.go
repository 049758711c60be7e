package commands

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/store"
)

// lockPatience is how long a session may hold a lock that doctor names it for.
const lockPatience = 1500 * time.Millisecond

// checkLocks names sessions that hold what replicas go without: what two looks find is no lock of a moment.
func (d *doctor) checkLocks(ctx context.Context) error {
	found, err := d.store.HoldUps(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPatience):
		}
		again, err := d.store.HoldUps(ctx)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(again, func(h store.HoldUp) bool {
			return !slices.ContainsFunc(found, func(f store.HoldUp) bool { return f.PID == h.PID })
		})
	}
	for _, h := range found {
		pid := strconv.FormatInt(h.PID, 10)
		d.add("locks", warning, "session "+pid+" of "+h.User+" "+h.What, "SELECT pg_terminate_backend("+pid+");")
	}
	if len(found) == 0 {
		d.add("locks", fine, "no session holds a lock that replicas go without", "")
	}
	return nil
}
