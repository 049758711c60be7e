package replica

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// wakeSource is how this replica is woken now: wal, notify or poll.
func (r *replica) wakeSource() string {
	switch {
	case r.config.Wake == "poll" || !r.listener.Connected():
		return "poll"
	case r.stream != nil && r.stream.Waking():
		return "wal"
	}
	return "notify"
}

// wakeTeller says how a replica is woken, in the log and in its row, whenever
// that changes: WAL → NOTIFY → sweeps, each taking over while the one before
// fails.
type wakeTeller struct {
	store  *store.Store
	log    zerolog.Logger
	id     func() string // "" while it has none
	source func() string
	deaf   func() bool // notifications don't arrive on the connection that there is
}

// Run tells until ctx ends; it returns nil. The row of a replica that is not
// registered yet, or whose database is away, is written when it can be.
func (w *wakeTeller) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var logged, written, writtenAs string
	warned := false
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
		if deaf := w.deaf(); deaf != warned {
			if warned = deaf; deaf {
				w.log.Warn().Msg("notifications do not arrive, most likely through a pooler in transaction mode: runs are found by sweeps, " +
					"and this replica writes no stream; set --direct-url to the server itself")
			}
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
