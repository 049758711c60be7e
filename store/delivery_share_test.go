package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// However old the deliveries of others are: first comes who has the fewest tries under way.
func TestWhoHasTheFewestTriesUnderWayComesFirst(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	one, two, good := o.webhook(t, "https://one.example/"), o.webhook(t, "https://two.example/"), o.webhook(t, "https://good.example/")
	o.add(t, one, 10)
	o.add(t, two, 10)
	o.addOne(t, good)
	hooks := func(claimed []store.Delivery) (ids []int64) {
		for _, d := range claimed {
			ids = append(ids, d.WebhookID)
		}
		return ids
	}
	w := wants(1, 2)
	w.Busy = map[int64]int{one: 1, two: 1}
	require.Equal(t, []int64{good}, hooks(o.claim(t, w)), "its delivery is the youngest")

	exec(t, o.Conn, "UPDATE rowrun.webhook_delivery SET leased_until = NULL, lease_token = NULL")
	require.ElementsMatch(t, []int64{one, two, good}, hooks(o.claim(t, wants(3, 2))), "each its first before anybody's second")

	exec(t, o.Conn, "UPDATE rowrun.webhook_delivery SET leased_until = NULL, lease_token = NULL")
	w = wants(6, 2)
	w.Kept = 5
	require.ElementsMatch(t, []int64{one, one, two, good}, hooks(o.claim(t, w)), "one place for second tries")

	exec(t, o.Conn, "UPDATE rowrun.webhook_delivery SET leased_until = NULL, lease_token = NULL")
	w.Slow = []int64{one, two}
	require.ElementsMatch(t, []int64{one, good}, hooks(o.claim(t, w)), "it is the slow ones' too")
	w.Kept = 6
	require.Empty(t, hooks(o.claim(t, w)))
}
