package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// wakeSource is how this replica is woken now: wal, notify or poll.
func (r *replica) wakeSource(asked string, listener *events.Listener) string {
	switch {
	case asked == "poll" || !listener.Connected():
		return "poll"
	case r.stream != nil && r.stream.Waking():
		return "wal"
	}
	return "notify"
}

// wakeTeller says how a replica is woken, in the log and in its row, whenever
// that changes.
type wakeTeller struct {
	store  *store.Store
	log    zerolog.Logger
	id     func() string // "" while it has none
	source func() string
}

// Run tells until ctx ends; it returns nil. The row of a replica that is not
// registered yet, or whose database is away, is written when it can be.
func (w *wakeTeller) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var logged, written, writtenAs string
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		source, id := w.source(), w.id()
		if source != logged {
			w.log.Info().Str("wake_source", source).Msg("wake source changed")
			logged = source
		}
		if id == "" || (source == written && id == writtenAs) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		if w.store.TellWakeSource(limited, id, source) == nil {
			written, writtenAs = source, id
		}
		cancel()
	}
}
