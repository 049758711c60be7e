package scheduler

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

// reached are the target databases of a replica whose targets change.
type reached struct {
	databases []string
	engines   map[string]string // of those that are not PostgreSQL
	aside     map[string]string // why targets are set aside, by name
}

// SetDatabases says which target databases this replica reaches from now on, instead of Config.Databases and Config.Engines, and
// why it sets others aside. It returns at once: what is left out is not claimed from the next round trip on, what is new once the
// replica's row says it.
func (s *Scheduler) SetDatabases(databases []string, engines, aside map[string]string) {
	s.reached.Store(&reached{slices.Sorted(slices.Values(databases)), maps.Clone(engines), maps.Clone(aside)})
	signal(s.reachable)
}

// reaches are the targets that this replica has now.
func (s *Scheduler) reaches() reached {
	if now := s.reached.Load(); now != nil {
		return *now
	}
	return reached{databases: s.cfg.Databases, engines: s.cfg.Engines}
}

// applyDatabases follows SetDatabases. What is gone is claimed no more before the row says so, what is new is claimed after it.
func (t *incarnation) applyDatabases(ctx context.Context, now reached) error {
	before := t.claims().Databases
	both := slices.DeleteFunc(slices.Clone(before), func(name string) bool {
		_, found := slices.BinarySearch(now.databases, name)
		return !found
	})
	t.claimOn(both)
	if !t.s.cfg.Admin {
		if err := t.s.cfg.Store.AnnounceDatabases(ctx, t.id, now.databases, now.engines, now.aside); err != nil {
			return err
		}
	}
	t.claimOn(now.databases)
	if !slices.Equal(both, now.databases) {
		signal(t.claimable)
	}
	return nil
}

// watchDatabases follows SetDatabases, also what it said before this incarnation began.
func (t *incarnation) watchDatabases(ctx context.Context) {
	errs := t.s.newOnce("databases")
	var followed *reached
	for ctx.Err() == nil {
		if now := t.s.reached.Load(); now != followed {
			pass, cancel := context.WithTimeout(ctx, passTimeout)
			err := t.applyDatabases(pass, *now)
			cancel()
			if err == nil {
				followed = now
				errs.ok()
				continue
			}
			if ctx.Err() == nil {
				errs.failed(err)
			}
			sleep(ctx, t.s.pace.again(time.Second))
			continue
		}
		select {
		case <-ctx.Done():
		case <-t.s.reachable:
		}
	}
}

func (t *incarnation) claims() store.Capabilities { return t.rules.Load().capabilities }

// claimOn changes on which targets runs are claimed. No pass is under way meanwhile.
func (t *incarnation) claimOn(databases []string) {
	t.ruling.Lock()
	defer t.ruling.Unlock()
	t.passing.Lock()
	defer t.passing.Unlock()
	rules := *t.rules.Load()
	rules.capabilities.Databases = databases
	t.rules.Store(&rules)
}
