package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// outbox is a database with webhooks and deliveries in it.
type outbox struct {
	*pgx.Conn
	store *store.Store
	url   string
}

// newOutbox opens the store with the rights of the sidecar.
func newOutbox(t *testing.T) *outbox {
	t.Helper()
	url := storetest.New(t)
	return &outbox{connect(t, url), storeAs(t, url, "rowrun_replica"), url}
}

func storeAs(t *testing.T, url, role string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url + "&options=-c%20role%3D" + role, Lease: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func (o *outbox) webhook(t *testing.T, url string) int64 {
	t.Helper()
	return query[int64](t, o.Conn, "INSERT INTO rowrun.webhook (url, secret_ref) VALUES ($1, 'env:SECRET') RETURNING id", url)
}

// add inserts n deliveries that are due, the first the longest.
func (o *outbox) add(t *testing.T, webhook int64, n int) {
	t.Helper()
	exec(t, o.Conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, next_attempt_at)
		SELECT $1, i, 1, 'PIPELINE_FAILED', format('msg_%s_%s', $1::bigint, i), format('{"n":%s}', i), now() - interval '1 hour' + i * interval '1 ms'
		FROM generate_series(1, $2) i`, webhook, n)
}

// wants is what an idle notifier asks for.
func wants(most, perWebhook int) store.DeliveryWants {
	return store.DeliveryWants{Most: most, PerWebhook: perWebhook, Lease: time.Minute}
}

func (o *outbox) claim(t *testing.T, w store.DeliveryWants) []store.Delivery {
	t.Helper()
	claimed, _, err := o.store.ClaimDeliveries(t.Context(), w)
	require.NoError(t, err)
	return claimed
}

// state is what became of a delivery, in one line.
func (o *outbox) state(t *testing.T, id int64) string {
	t.Helper()
	return query[string](t, o.Conn, `SELECT concat_ws(' ', status, attempts, 'code', coalesce(response_code::text, '-'),
		coalesce(last_error, '-'), 'in', coalesce(round(extract(epoch FROM next_attempt_at - clock_timestamp()))::text, '-'),
		CASE WHEN delivered_at IS NULL THEN 'open' ELSE 'delivered' END, CASE WHEN lease_token IS NULL AND (status <> 'PENDING' OR leased_until IS NULL) THEN 'free' ELSE 'leased' END)
		FROM rowrun.webhook_delivery WHERE id = $1`, id)
}

func TestEachWebhookGivesItsFirstFew(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	big, small, off := o.webhook(t, "https://big.example/"), o.webhook(t, "env:SMALL"), o.webhook(t, "https://off.example/")
	exec(t, o.Conn, "UPDATE rowrun.webhook SET enabled = false WHERE id = $1", off)
	o.add(t, big, 50)
	o.add(t, off, 3)
	o.add(t, small, 1)
	exec(t, o.Conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, next_attempt_at)
		VALUES ($1, 99, 1, 'PIPELINE_COMPLETED', 'later', '{}', now() + interval '1 hour')`, small)

	claimed, next, err := o.store.ClaimDeliveries(t.Context(), wants(10, 2))
	require.NoError(t, err)
	require.InDelta(t, time.Minute, next, float64(10*time.Second), "the end of the leases just taken comes before what is due in an hour")
	var got []string
	for _, d := range claimed {
		got = append(got, fmt.Sprintf("%d %s %s %s %s %d %d", d.WebhookID, d.URL, d.SecretRef, d.MessageID, d.Payload, d.PlanID, d.Attempts))
		require.NotEmpty(t, d.Token)
		require.Equal(t, "PIPELINE_FAILED", d.EventType)
	}
	require.ElementsMatch(t, []string{
		fmt.Sprintf(`%d https://big.example/ env:SECRET msg_%[1]d_1 {"n":1} 1 0`, big),
		fmt.Sprintf(`%d https://big.example/ env:SECRET msg_%[1]d_2 {"n":2} 2 0`, big),
		fmt.Sprintf(`%d env:SMALL env:SECRET msg_%[1]d_1 {"n":1} 1 0`, small),
	}, got)

	w := wants(10, 2)
	w.Busy = map[int64]int{big: 1, small: 2}
	claimed = o.claim(t, w)
	require.Len(t, claimed, 1)
	require.Equal(t, fmt.Sprintf("msg_%d_3", big), claimed[0].MessageID)
	require.Len(t, o.claim(t, wants(3, 10)), 3, "the bound in all")
}

func TestADeliveryHasOneHolder(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.add(t, o.webhook(t, "https://one.example/"), 200)
	var mu sync.Mutex
	var wg sync.WaitGroup
	holders := map[int64]int{}
	errs := make(chan error, 4) // one per claimer
	for range 4 {
		wg.Go(func() {
			for {
				claimed, _, err := o.store.ClaimDeliveries(t.Context(), wants(7, 7))
				if err != nil {
					errs <- err
					return
				}
				mu.Lock()
				for _, d := range claimed {
					holders[d.ID]++
				}
				all := len(holders) == 200
				mu.Unlock()
				if all {
					return
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, errs)
	for id, n := range holders {
		require.Equal(t, 1, n, "delivery %d", id)
	}
}

func TestALeaseThatRanOutIsTakenOverAndItsHolderRefused(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.add(t, o.webhook(t, "https://one.example/"), 1)
	lost := o.claim(t, wants(1, 1))[0]
	require.Empty(t, o.claim(t, wants(1, 1)))
	exec(t, o.Conn, "UPDATE rowrun.webhook_delivery SET leased_until = now() - interval '1 ms'")
	held := o.claim(t, wants(1, 1))
	require.Len(t, held, 1)
	require.Equal(t, lost.MessageID, held[0].MessageID)
	require.Equal(t, lost.Payload, held[0].Payload)

	require.ErrorIs(t, o.store.RecordTry(t.Context(), lost, store.Try{Status: "DELIVERED", Code: 200}), store.ErrStale)
	require.ErrorIs(t, o.store.ReleaseDelivery(t.Context(), lost, "x"), store.ErrStale)
	_, err := o.store.DisableWebhook(t.Context(), lost, store.Try{Code: 410})
	require.ErrorIs(t, err, store.ErrStale)
	require.True(t, query[bool](t, o.Conn, "SELECT enabled FROM rowrun.webhook"))
	require.Regexp(t, `^PENDING 0 code - - in -\d+ open leased$`, o.state(t, lost.ID))

	require.NoError(t, o.store.RecordTry(t.Context(), held[0], store.Try{Status: "DELIVERED", Code: 204}))
	require.Equal(t, "DELIVERED 1 code 204 - in - delivered free", o.state(t, lost.ID))
	require.ErrorIs(t, o.store.RecordTry(t.Context(), held[0], store.Try{Status: "DELIVERED"}), store.ErrStale, "twice")
}

func TestAFailedTryIsFollowedByAnotherUntilTheyAreUsedUp(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.add(t, o.webhook(t, "https://one.example/"), 1)
	d := o.claim(t, wants(1, 1))[0]
	require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "PENDING", RetryIn: 5 * time.Minute, Code: 503, Problem: "no"}))
	require.Regexp(t, `^PENDING 1 code 503 no in (300|299) open free$`, o.state(t, d.ID))
	require.Empty(t, o.claim(t, wants(1, 1)))
	exec(t, o.Conn, "UPDATE rowrun.webhook_delivery SET next_attempt_at = now()")
	d = o.claim(t, wants(1, 1))[0]
	require.Equal(t, 1, d.Attempts)
	require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "EXHAUSTED", Problem: "no answer"}))
	require.Equal(t, "EXHAUSTED 2 code - no answer in - open free", o.state(t, d.ID))
}

func TestAReleaseCostsNoTry(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.add(t, o.webhook(t, "env:NOWHERE"), 1)
	d := o.claim(t, wants(1, 1))[0]
	require.NoError(t, o.store.ReleaseDelivery(t.Context(), d, "not set"))
	require.Regexp(t, `^PENDING 0 code - not set in -\d+ open free$`, o.state(t, d.ID))
	again := o.claim(t, wants(1, 1))
	require.Len(t, again, 1)
	require.NoError(t, o.store.ReleaseDelivery(t.Context(), again[0], ""))
	require.Contains(t, o.state(t, d.ID), " not set ")
}

func TestGoneDisablesTheWebhookAndWhatItWasToGet(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	gone, other := o.webhook(t, "https://gone.example/"), o.webhook(t, "https://other.example/")
	o.add(t, gone, 3)
	o.add(t, other, 1)
	var mine store.Delivery
	for _, d := range o.claim(t, wants(10, 1)) {
		if d.WebhookID == gone {
			mine = d
		}
	}
	try := store.Try{Code: 410, Problem: "gone"}
	n, err := o.store.DisableWebhook(t.Context(), mine, try)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	require.Equal(t, "DISABLED 1 code 410 gone in - open free", o.state(t, mine.ID))
	require.EqualValues(t, 3, query[int64](t, o.Conn, "SELECT count(*) FROM rowrun.webhook_delivery WHERE status = 'DISABLED'"))
	require.EqualValues(t, other, query[int64](t, o.Conn, "SELECT id FROM rowrun.webhook WHERE enabled"))
}

// The old endpoint is gone; the new one must not pay for it.
func TestGoneOfAnOldURLDisablesNothing(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.add(t, o.webhook(t, "https://old.example/"), 2)
	d := o.claim(t, wants(1, 1))[0]
	exec(t, o.Conn, "UPDATE rowrun.webhook SET url = 'https://new.example/'")
	_, err := o.store.DisableWebhook(t.Context(), d, store.Try{Code: 410, Problem: "gone"})
	require.ErrorIs(t, err, store.ErrStale)
	require.True(t, query[bool](t, o.Conn, "SELECT enabled FROM rowrun.webhook"))
	require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "PENDING", RetryIn: time.Minute}))
}

func TestRedeliverKeepsIDAndBytes(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	author := storeAs(t, o.url, "rowrun_author")
	o.add(t, o.webhook(t, "https://one.example/"), 1)
	first := o.claim(t, wants(1, 1))[0]
	require.ErrorIs(t, author.Redeliver(t.Context(), first.ID), store.ErrStale, "it is PENDING")
	require.NoError(t, o.store.RecordTry(t.Context(), first, store.Try{Status: "DELIVERED", Code: 200}))
	require.NoError(t, author.Redeliver(t.Context(), first.ID))
	again := o.claim(t, wants(1, 1))[0]
	again.Token, first.Token = "", ""
	require.Equal(t, first, again)

	shown, err := author.FindDelivery(t.Context(), first.ID)
	require.NoError(t, err)
	require.Nil(t, shown.DeliveredAt)
	_, err = author.FindDelivery(t.Context(), 99)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, author.Redeliver(t.Context(), 99), store.ErrStale)
}

func TestWebhooksAreListedWithWhatWaits(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	one := o.webhook(t, "https://one.example/path")
	exec(t, o.Conn, "INSERT INTO rowrun.webhook (project, url, format) VALUES ('shop', 'env:HOOK', 'slack')")
	o.add(t, one, 3)
	all, err := o.store.ListWebhooks(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "https://one.example/path", *all[0].URL)
	require.EqualValues(t, 3, all[0].Pending)
	shop, err := o.store.ListWebhooks(t.Context(), "shop")
	require.NoError(t, err)
	require.Equal(t, all[1:], shop)

	found, err := o.store.FindWebhook(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, all[0], found)
	_, err = o.store.FindWebhook(t.Context(), 99)
	require.ErrorIs(t, err, store.ErrNotFound)

	webhook := one
	for _, c := range []struct {
		filter store.DeliveryFilter
		want   int
	}{
		{store.DeliveryFilter{Limit: 10}, 3},
		{store.DeliveryFilter{Limit: 2}, 2},
		{store.DeliveryFilter{Limit: 10, WebhookID: &webhook, PlanID: &webhook}, 1},
		{store.DeliveryFilter{Limit: 10, Statuses: []string{"DELIVERED"}}, 0},
		{store.DeliveryFilter{Limit: 10, Statuses: []string{"DELIVERED", "PENDING"}}, 3},
	} {
		shown, err := o.store.ListDeliveries(t.Context(), c.filter)
		require.NoError(t, err)
		require.Len(t, shown, c.want)
	}
}

// A history of settled deliveries, and a backlog that isn't due, cost a claim nothing.
func TestAClaimReadsOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	one := o.webhook(t, "https://one.example/")
	exec(t, o.Conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, status, next_attempt_at)
		SELECT $1, i, 1, 'PIPELINE_FAILED', 'old_' || i, '{}', CASE WHEN i % 2 = 0 THEN 'PENDING' ELSE 'DELIVERED' END, now() + interval '1 hour'
		FROM generate_series(1, 20000) i`, one)
	o.addOne(t, one)
	exec(t, o.Conn, "ANALYZE rowrun.webhook_delivery")
	exec(t, o.Conn, "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
	rows, err := o.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS) "+store.Statement("claim_deliveries"), 10, 2, []int64{}, []int{}, 60.0, "", []int64{}, 3)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	text := strings.Join(plan, "\n")
	require.NotContains(t, text, "Seq Scan on webhook_delivery", text)
	require.NotRegexp(t, `Rows Removed by (Filter|Index Recheck): \d{3,}`, text)
}

func (o *outbox) addOne(t *testing.T, webhook int64) {
	t.Helper()
	exec(t, o.Conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload)
		VALUES ($1, 0, 2, 'PIPELINE_FAILED', 'now', '{}')`, webhook)
}
