package notifier

import (
	"context"
	"sync"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// failures logs what goes wrong with the database when it first comes and when it changes. It is over when a claim was
// answered and no record waits: either alone would be said in turn with what the other still suffers.
type failures struct {
	log           zerolog.Logger
	mu            sync.Mutex
	claim, record string // what went wrong; "": nothing
	waiting       int    // records that are tried again
}

// claimed takes note of what the database answered to a claim.
func (f *failures) claimed(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.over(ctx, &f.claim)
	case ctx.Err() == nil:
		f.failed(&f.claim, err)
	}
}

// waits takes note of a record that was not written; first: it is the first try. recorded follows.
func (f *failures) waits(err error, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first {
		f.waiting++
	}
	f.failed(&f.record, err)
}

// recorded takes note that a record waits no more.
func (f *failures) recorded(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.over(ctx, &f.record)
	}
}

func (f *failures) failed(of *string, err error) {
	reason := store.Reason(err)
	known := reason == f.claim || reason == f.record
	*of = reason
	if !known {
		f.log.Warn().Str("error", reason).Msg("webhook deliveries failed, it goes on trying")
	}
}

func (f *failures) over(ctx context.Context, of *string) {
	was := *of
	*of = ""
	if was != "" && f.claim == "" && f.record == "" && ctx.Err() == nil {
		f.log.Info().Msg("webhook deliveries work again")
	}
}
