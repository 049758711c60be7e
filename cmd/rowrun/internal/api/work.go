package api

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// lookForActs is how often is looked for acts that somebody else began and has left.
	lookForActs = 30 * time.Second
	// lookAgain is how soon is looked again for those that somebody else was at. That may be a step of our own: the one that
	// a request gave up holds its act until the server has noticed.
	lookAgain = time.Second
	// stepTimeout bounds one step of an act.
	stepTimeout = 30 * time.Second
)

// goOn has Run look now.
func (a *API) goOn() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// Run goes on with acts that are not done, whoever began them, until ctx ends; it returns nil. Where nobody acts it waits.
func (a *API) Run(ctx context.Context) error {
	if a.config.ReadOnly || !a.config.Operators {
		<-ctx.Done()
		return nil
	}
	timer := time.NewTimer(lookForActs)
	defer timer.Stop()
	for {
		left, err := a.stepAll(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotOperator) {
			a.trouble(err).Msg("an act could not be gone on with; it is tried again")
		}
		if left {
			timer.Reset(lookAgain)
		} else {
			timer.Reset(lookForActs)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.kick:
		case <-timer.C:
		}
	}
}

// stepAll takes steps of all acts in turn until none has more to do here; left: others may be at some of them.
func (a *API) stepAll(ctx context.Context) (left bool, err error) {
	for {
		ids, err := a.store.UnfinishedActs(ctx)
		if err != nil || len(ids) == 0 {
			return false, err
		}
		goesOn := false
		for _, id := range ids {
			step, cancel := context.WithTimeout(ctx, stepTimeout)
			more, wrong := a.store.StepAct(step, id)
			cancel()
			err = errors.Join(err, wrong) // one that can't be gone on with holds up no other
			goesOn = goesOn || more
		}
		if !goesOn {
			return err == nil, err
		}
	}
}
