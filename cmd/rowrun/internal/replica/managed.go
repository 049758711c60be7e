package replica

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/health"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/systemd"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// makeManager makes what tells the service manager how this replica is, where one listens.
func (r *replica) makeManager() (err error) {
	if r.config.lookup == nil || r.process.shard != "" { // the process tells of all of them
		return nil
	}
	r.manager, err = systemd.New(systemd.Config{
		Lookup: r.config.lookup,
		Ready:  r.ready,
		Alive:  r.alive,
		Status: func() string { return inWords(r.scheduler.Status(), r.config.slots(), r.config.StaleAfter) },
		Log:    r.log,
	})
	if r.manager != nil {
		r.support = append(r.support, r.manager)
	}
	return err
}

// readyTimeout bounds the questions that the database is asked before it is ready.
const readyTimeout = 2 * time.Second

// ready is what /readyz asks, in its order: the first check that isn't met.
func (r *replica) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for _, check := range r.checks {
		if err := check.Ask(ctx); err != nil {
			return fmt.Errorf("%s: %w", check.Name, err)
		}
	}
	return nil
}

// alive says that this process does what it must whatever becomes of the database: it answers /livez as it would a
// probe, and its heartbeat doesn't stand still.
func (r *replica) alive(ctx context.Context) error {
	if err := standing(r.scheduler.Status(), r.config.StaleAfter); err != nil {
		return err
	}
	if r.addr == "" {
		return nil
	}
	return health.Ask(ctx, r.addr, health.Live)
}

// standing says that a heartbeat stands still. One that can't be written is followed by an end: two thirds of the lease
// after the last one the replica gives it up, stops what it runs, and begins anew when the database has taken how that
// ended. One that is older than the whole lease was neither written nor given up.
func standing(s scheduler.Status, lease time.Duration) error {
	if s.ReplicaID == "" || s.Fenced || s.Silent <= lease {
		return nil
	}
	return fmt.Errorf("for %s no heartbeat was written, and the lease of %s was not given up: the process hangs",
		s.Silent.Round(time.Second), lease)
}

// inWords is a replica's line in `systemctl status`. It never asks the database.
func inWords(s scheduler.Status, slots int, lease time.Duration) string {
	doing := fmt.Sprintf("%d of %d running, %d done and %d failed since the start", s.Executing, slots, s.Completed, s.Failed)
	switch {
	case s.Draining:
		return "draining: " + doing
	case s.Elsewhere != "":
		return "not ready: " + s.Elsewhere
	case s.ReplicaID == "", s.Silent > lease*2/3:
		return "not ready: the database is out of reach; " + doing
	case s.Unable >= unablePatience:
		return "not ready: " + unable(s).Error()
	case s.Role == store.RoleAdmin:
		return "ready: an admin, which claims nothing"
	case s.Paused:
		return "paused: " + doing
	}
	return "ready: " + doing
}
