package notifier

import (
	"context"
	"sync"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// failures logs what goes wrong with the database when it first comes and when it changes, and says when it is over.
type failures struct {
	log  zerolog.Logger
	mu   sync.Mutex
	last string
}

func (f *failures) note(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil && f.last != "":
		f.last = ""
		f.log.Info().Msg("webhook deliveries work again")
	case err != nil && ctx.Err() == nil && f.last != store.Reason(err):
		f.last = store.Reason(err)
		f.log.Warn().Str("error", f.last).Msg("webhook deliveries failed, it goes on trying")
	}
}
