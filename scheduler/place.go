package scheduler

import (
	"context"

	"github.com/rowrun/rowrun/store"
)

// settle asks whether the database is the deployment's own, before anything is written to it. In a copy of another
// deployment, store.ErrElsewhere, a replica waits: what is to be done there is done by its origin.
func (s *Scheduler) settle(ctx context.Context) error {
	ask, cancel := context.WithTimeout(ctx, s.cfg.HeartbeatInterval)
	defer cancel()
	w, err := s.cfg.Store.Whereabouts(ask)
	if err != nil {
		return err
	}
	why := ""
	if w.Elsewhere {
		why = w.Why()
	}
	if last := s.elsewhere.Swap(&why); why != "" && (last == nil || *last != why) {
		s.cfg.Log.Error().Str("reason", why).Msg("the database is a copy, this replica waits")
	} else if why == "" && last != nil && *last != "" {
		s.cfg.Log.Info().Str("deployment", w.ID).Msg("the database is this deployment's, this replica goes on")
	}
	if w.Elsewhere {
		return store.ErrElsewhere
	}
	if s.cfg.Identified != nil {
		s.cfg.Identified(w.ID)
	}
	return nil
}

// waits is why the database isn't this deployment's, "": it is, or nobody has asked yet.
func (s *Scheduler) waits() string {
	if why := s.elsewhere.Load(); why != nil {
		return *why
	}
	return ""
}
