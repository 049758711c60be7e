package scheduler

import (
	"sync"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// once logs a pass's error when it first comes and when it changes, not each time, and says when it is over.
type once struct {
	log  zerolog.Logger
	pass string
	mu   sync.Mutex
	last string
}

func newOnce(log zerolog.Logger, pass string) *once {
	return &once{log: log, pass: pass}
}

func (o *once) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := store.Reason(err); text != o.last {
		o.last = text
		o.log.Warn().Str("error", text).Str("pass", o.pass).Msg("pass failed, it goes on trying")
	}
}

func (o *once) ok() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last != "" {
		o.last = ""
		o.log.Info().Str("pass", o.pass).Msg("pass works again")
	}
}
