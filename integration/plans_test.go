package integration_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// People do with plans whatever can be done, while replicas are killed. Whatever comes of it: no gate is violated, each
// round has at most one event and the right one, every message arrives, and what goes on no more waits for a person.
func TestRandomPlansAreAnnouncedOncePerRound(t *testing.T) {
	t.Parallel()
	seed := storetest.Seed(t)
	slots := make(chan struct{}, 2)
	for i := range storetest.Count(3, 300) {
		t.Run(fmt.Sprintf("seed=%d", seed+int64(i)), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			runPlans(t, uint64(seed)+uint64(i))
		})
	}
}

func runPlans(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not a secret
	d, hears := newDatabase(t), newHearer(t)
	past := recordPlans(t, d)
	d.exec(t, "INSERT INTO rowrun.webhook (name, url, secret_ref) VALUES ('both', $1, $2)", hears.url, hears.secretRef)
	d.exec(t, "INSERT INTO rowrun.webhook (name, url, secret_ref, events) VALUES ('failures', $1, $2, '{PIPELINE_FAILED}')", hears.url, hears.secretRef)
	w := newPlanWorld(t, d, rnd)

	// What a killed replica was just delivering is found by a sweep, once its lease of 25 s is over.
	flags := []string{"--sweep-interval", "2s"}
	start := func() *replica { return launch(t, d.url, quickLease(), hears.knows(), flags) }
	replicas := []*replica{start(), start(), start()}
	for _, r := range replicas {
		r.log.await(t, 1, logListening)
	}
	var people sync.WaitGroup
	failed := make([]error, 3)
	for i := range failed {
		people.Go(func() {
			failed[i] = w.act(t.Context(), rand.New(rand.NewPCG(seed, uint64(i)+1)), 25) //nolint:gosec // not a secret
		})
	}
	for range 3 {
		pause(t, time.Duration(200+rnd.IntN(500))*time.Millisecond)
		i := rnd.IntN(len(replicas))
		replicas[i].kill(t)
		replicas[i] = start()
	}
	people.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}

	w.awaitQuiet(t)
	w.requireAnnounced(t)
	w.lift(t)
	w.requireAnnounced(t)
	hears.requireAll(t, d)
	checkPlans(t, past)
}

// pause lets the replicas work for a while: nothing is waited for but time.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// awaitUntil polls until nothing is left over, and fails with what was.
func awaitUntil(t *testing.T, what string, left func() string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		over := left()
		if over == "" {
			return
		}
		if time.Now().After(deadline) {
			require.FailNow(t, "not in time", "%s, within %s: %s", what, patience, over)
		}
	}
}

// text is the one value of a query, "" for NULL.
func (d *database) text(t *testing.T, sql string) string {
	t.Helper()
	value := ask[*string](t, d, sql)
	if value == nil {
		return ""
	}
	return *value
}
