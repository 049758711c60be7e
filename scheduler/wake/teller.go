package wake

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// The ways in which a replica is woken.
const (
	ByLog    = "wal"    // it reads the write-ahead log, and wakes the others
	ByNotify = "notify" // it hears notifications
	BySweeps = "poll"   // nothing wakes it but its sweeps
)

// Teller says how a replica is woken, in the log and in its row, whenever that changes: WAL → NOTIFY → sweeps, each taking
// over while the one before fails. All fields are required.
type Teller struct {
	Store     *store.Store
	Scheduler *scheduler.Scheduler
	// Source is how the replica is woken now.
	Source func() string
	// Deaf says that notifications don't arrive on the connection that there is, DeafText what to do about it.
	Deaf     func() bool
	DeafText string
	Log      zerolog.Logger
}

// Run tells until ctx ends; it returns nil. The row of a replica that is not
// registered yet, or whose database is away, is written when it can be.
func (w *Teller) Run(ctx context.Context) error {
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
		source, id := w.Source(), w.Scheduler.Status().ReplicaID
		if source != logged {
			w.Log.Info().Str("wake_source", source).Msg("wake source changed")
			logged = source
		}
		if deaf := w.Deaf(); deaf != warned {
			if warned = deaf; deaf {
				w.Log.Warn().Msg("notifications do not arrive, most likely through a pooler in transaction mode: runs are found by sweeps" + w.DeafText)
			}
		}
		if id == "" || (source == written && id == writtenAs) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		if w.Store.TellWakeSource(limited, id, source) == nil {
			written, writtenAs = source, id
		}
		cancel()
	}
}
