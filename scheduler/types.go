package scheduler

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rowrun/rowrun/store"
)

// typeRules are the types that an incarnation claims, after what rowrun.task_type says of them.
type typeRules struct {
	capabilities store.Capabilities
	aliases      map[string]alias // by the type of the run
	paused       bool             // nothing is claimed: by an operator's word, or as this is an admin
}

// alias has another type's executor run a run.
type alias struct {
	of      string
	mapping map[string]*string // nil value: the key is left out
}

// rulesOf applies rules to the types that this process has executors for; paused: it is to claim none of them.
func (s *Scheduler) rulesOf(rules []store.TypeRule, paused bool) *typeRules {
	paused = paused || s.cfg.Admin
	claims := map[string]bool{}
	for _, name := range s.types {
		claims[name] = true
	}
	r := &typeRules{capabilities: s.capabilities, aliases: map[string]alias{}, paused: paused}
	for _, rule := range rules {
		if _, own := s.cfg.Executors[rule.Type]; !own && rule.AliasOf != "" && s.cfg.Executors[rule.AliasOf] != nil {
			a := alias{of: rule.AliasOf}
			if len(rule.Mapping) > 0 && json.Unmarshal(rule.Mapping, &a.mapping) != nil {
				s.cfg.Log.Warn().Str("type", rule.Type).Msg("the mapping of an alias is not of names to names or null: its runs are not claimed")
				continue
			}
			r.aliases[rule.Type] = a
			claims[rule.Type] = true
		}
		if rule.Draining {
			delete(claims, rule.Type)
		}
	}
	if paused {
		clear(claims)
	}
	r.capabilities.Types = slices.Sorted(maps.Keys(claims))
	return r
}

// limitsOfNothing are the types of TypeLimits that this process doesn't run, as far as it knows the aliases by now.
func (s *Scheduler) limitsOfNothing(rules *typeRules) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.cfg.TypeLimits)) {
		_, own := s.cfg.Executors[name]
		_, aliased := rules.aliases[name]
		if !own && !aliased {
			names = append(names, name)
		}
	}
	return names
}

// rename lays a payload out for the executor of an alias. What is no object is left for that executor to refuse.
func (a *alias) rename(payload json.RawMessage) json.RawMessage {
	var old map[string]json.RawMessage
	if len(a.mapping) == 0 || json.Unmarshal(payload, &old) != nil {
		return payload
	}
	renamed := make(map[string]json.RawMessage, len(old))
	for key, value := range old {
		if _, mapped := a.mapping[key]; !mapped {
			renamed[key] = value
		}
	}
	for key, name := range a.mapping {
		if value, there := old[key]; there && name != nil {
			renamed[*name] = value
		}
	}
	b, err := json.Marshal(renamed)
	if err != nil {
		return payload // a RawMessage that was read can be written
	}
	return b
}

// applyTypes reads the rules, and whether this replica is paused, and follows them. No pass is under way while they
// change, so that what is announced is what is claimed: who waits until no replica announces a type knows that nobody
// claims it.
func (t *incarnation) applyTypes(ctx context.Context) error {
	rules, paused, err := t.s.cfg.Store.ClaimRules(ctx, t.id)
	if err != nil {
		return err
	}
	now := t.s.rulesOf(rules, paused)
	t.ruling.Lock()
	before := t.rules.Load()
	now.capabilities.Databases = before.capabilities.Databases // applyDatabases changes them
	t.passing.Lock()
	t.rules.Store(now)
	t.passing.Unlock()
	t.ruling.Unlock()
	if slices.Equal(now.capabilities.Types, before.capabilities.Types) && now.paused == before.paused && t.announced {
		return nil
	}
	t.announced = false
	if err := t.s.cfg.Store.AnnounceTypes(ctx, t.id, now.capabilities.Types); err != nil {
		return err
	}
	t.announced = true
	switch {
	case now.paused && !before.paused:
		t.s.cfg.Log.Info().Str("replica_id", t.id).Msg("replica paused: it claims nothing")
	case before.paused && !now.paused:
		t.s.cfg.Log.Info().Str("replica_id", t.id).Strs("types", now.capabilities.Types).Msg("replica resumed")
		signal(t.claimable)
	case !slices.Equal(now.capabilities.Types, before.capabilities.Types):
		t.s.cfg.Log.Info().Strs("types", now.capabilities.Types).Msg("types that this replica runs changed")
		signal(t.claimable)
	}
	return nil
}

// watchTypes follows the rules where a survey finds that they have changed.
func (t *incarnation) watchTypes(ctx context.Context) {
	errs := t.s.newOnce("types")
	for {
		t.seen.rules.wait(ctx, t.patience(min(t.s.cfg.SweepInterval, maxTypeLook)))
		if ctx.Err() != nil {
			return
		}
		seen := t.seen.rulesNow.Load()
		pass, cancel := context.WithTimeout(ctx, passTimeout)
		err := t.applyTypes(pass)
		cancel()
		if err == nil {
			t.seen.rulesDone.Store(seen)
			errs.ok()
		} else if ctx.Err() == nil {
			errs.failed(err)
		}
	}
}

// maxTypeLook bounds how long a replica goes on claiming a type that drains, and takes no notice of being resumed, whatever
// its sweep interval.
const maxTypeLook = 5 * time.Second
