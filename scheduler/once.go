package scheduler

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// sayAgain is how often an error that goes on is said again, with how many times it came.
const sayAgain = time.Minute

// once logs a pass's error when it first comes and when it changes, then each minute how many times it has come, and
// says when it is over.
type once struct {
	log   zerolog.Logger
	pass  string
	count func(pass string) // nil: nobody counts

	mu    sync.Mutex
	last  string
	since time.Time
	said  time.Time
	times int
}

func (s *Scheduler) newOnce(pass string) *once {
	return &once{log: s.cfg.Log, pass: pass, count: s.cfg.Observer.PassFailed}
}

func (o *once) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count != nil {
		o.count(o.pass)
	}
	now := time.Now()
	if o.times == 0 {
		o.since = now
	}
	o.times++
	text := store.Reason(err)
	switch {
	case text != o.last:
		o.last = text
	case now.Sub(o.said) < sayAgain:
		return
	}
	o.said = now
	line := o.log.Warn().Str("error", text).Str("pass", o.pass)
	if o.times == 1 {
		line.Msg("pass failed, it goes on trying")
		return
	}
	line.Int("times", o.times).Time("since", o.since.UTC()).
		Msgf("pass failed %d times since %s, it goes on trying", o.times, o.since.UTC().Format(time.RFC3339))
}

func (o *once) ok() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.times > 0 {
		o.log.Info().Str("pass", o.pass).Int("times", o.times).Msg("pass works again")
		o.last, o.times = "", 0
	}
}
