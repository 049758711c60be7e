package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/rowrun/rowrun/store"
)

// endStrays ends RUNNING rows under this id that this replica doesn't run: a claim whose answer was lost, a row given
// to it by hand. The rows were read between passes, so that no claim of dispatch was under way; they count when two sweeps
// in a row have missed them, and when the claims that the recorder was making meanwhile have been answered or given up.
func (t *incarnation) endStrays(ctx context.Context, owned []int64, before map[int64]bool) map[int64]bool {
	errs := t.s.recorder.errs
	missing := map[int64]bool{}
	again := false
	here := t.s.here()
	for _, id := range owned {
		if !here[id] {
			missing[id] = true
			again = again || before[id]
		}
	}
	if again {
		t.open.Lock()
		t.open.Unlock() //nolint:staticcheck // only waits
		here = t.s.here()
	}
	var endings []store.Ending
	for _, id := range owned {
		if missing[id] && before[id] && !here[id] {
			endings = append(endings, store.Ending{
				ID: id, Failed: true, Retry: store.RetryStale,
				Result: result(CodeLostContact, store.DetailLostContact, nil),
			})
		}
	}
	t.s.cfg.Observer.swept(SweepStray, len(endings))
	if len(endings) == 0 {
		return missing
	}
	rt, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	ended, _, err := t.s.cfg.Store.EndRuns(rt, endings, time.Second)
	if err != nil && store.OneByOne(err) && len(endings) > 1 {
		err = nil
		for _, e := range endings { // so that one that is refused holds no other up
			one, _, refused := t.s.cfg.Store.EndRuns(rt, []store.Ending{e}, time.Second)
			ended = append(ended, one...)
			err = errors.Join(err, refused)
		}
	}
	if err != nil {
		errs.failed(err)
	}
	if len(ended) == 0 {
		return missing
	}
	signal(t.s.opened)
	t.s.cfg.Log.Warn().Int("count", len(ended)).Str("replica_id", t.id).Msg("runs under this replica's name that it doesn't run were failed")
	return missing
}
