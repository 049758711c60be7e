package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/health"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/systemd"
)

// makeManager makes what tells the service manager how this process is, where one listens.
func (s *shards) makeManager() (err error) {
	if s.config.lookup == nil {
		return nil
	}
	systemd.Say(s.config.lookup, "waiting for the databases")
	s.manager, err = systemd.New(systemd.Config{Lookup: s.config.lookup, Ready: s.ready, Alive: s.alive, Status: s.inWords, Log: s.log})
	return err
}

// ready returns nil when a shard takes work: a database that is away must not have the service manager end the others' process.
func (s *shards) ready(ctx context.Context) error {
	var all error
	for _, one := range s.all {
		r := one.running.Load()
		if r == nil {
			all = errors.Join(all, fmt.Errorf("shard %s: is starting", one.name))
			continue
		}
		err := r.ready(ctx)
		if err == nil {
			return nil
		}
		all = errors.Join(all, fmt.Errorf("shard %s: %w", one.name, err))
	}
	return all
}

// alive says that every shard does what it must whatever becomes of its database, and that HTTP is answered.
func (s *shards) alive(ctx context.Context) error {
	for _, one := range s.all {
		if r := one.running.Load(); r != nil {
			if err := standing(r.scheduler.Status(), s.config.StaleAfter); err != nil {
				return fmt.Errorf("shard %s: %w", one.name, err)
			}
		}
	}
	if s.web == nil {
		return nil
	}
	return health.Ask(ctx, s.web.Addr().String(), health.Live)
}

// inWords is the process's line in `systemctl status`. It never asks a database.
func (s *shards) inWords() string {
	slots, used := s.used()
	words := []string{fmt.Sprintf("%d of %d slots taken", used, slots)}
	for _, one := range s.all {
		said := "starting"
		if r := one.running.Load(); r != nil {
			said = inWords(r.scheduler.Status(), slots, s.config.StaleAfter)
		}
		words = append(words, one.name+": "+said)
	}
	return strings.Join(words, "; ")
}
