package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// What holds each webhook's deliveries up is told, since when, and how many they are; and what was given up.
func TestBacklogsOfWebhooksSayWhy(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	reasons := map[int64]string{}
	for _, reason := range []string{"unready", "refused", "disabled", "due", "exhausted", "gone", "fine"} {
		id := o.webhook(t, "https://"+reason+".example/")
		reasons[id] = reason
		o.add(t, id, 3)
		exec(t, o.Conn, `UPDATE rowrun.webhook_delivery SET created_at = now() - interval '2 hours' + plan_id * interval '1 minute' WHERE webhook_id = $1`, id)
	}
	none := o.webhook(t, "https://none.example/")
	for _, d := range o.claim(t, store.DeliveryWants{Most: 100, PerWebhook: 1, Lease: time.Minute}) {
		require.NotEqual(t, none, d.WebhookID)
		switch reasons[d.WebhookID] {
		case "unready":
			require.NoError(t, o.store.ReleaseDelivery(t.Context(), d, "secret_ref: env:SECRET is not set in this replica"))
		case "refused":
			require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "PENDING", RetryIn: time.Hour, Code: 500, Problem: "answered with HTTP 500"}))
		case "exhausted":
			require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "EXHAUSTED", Problem: "connection refused"}))
			exec(t, o.Conn, `DELETE FROM rowrun.webhook_delivery WHERE webhook_id = $1 AND status = 'PENDING'`, d.WebhookID)
		case "gone":
			_, err := o.store.DisableWebhook(t.Context(), d, store.Try{Code: 410, Problem: "answered with HTTP 410 Gone"})
			require.NoError(t, err)
		case "fine":
			exec(t, o.Conn, `UPDATE rowrun.webhook_delivery SET status = 'DELIVERED', delivered_at = now() WHERE webhook_id = $1`, d.WebhookID)
		default: // its sender is gone
			require.NoError(t, o.store.ReleaseDelivery(t.Context(), d, ""))
		}
	}
	for id, reason := range reasons {
		if reason == "disabled" {
			exec(t, o.Conn, `UPDATE rowrun.webhook SET enabled = false WHERE id = $1`, id)
		}
	}

	backlogs, err := o.store.DeliveryBacklogs(t.Context())
	require.NoError(t, err)
	require.Len(t, backlogs, len(reasons)-1, "all but the one that has got its messages")
	wantError := map[string]string{
		"unready": "secret_ref: env:SECRET is not set in this replica", "refused": "answered with HTTP 500",
		"exhausted": "connection refused", "gone": "answered with HTTP 410 Gone",
	}
	for _, b := range backlogs {
		require.Equal(t, reasons[b.WebhookID], b.Reason)
		require.Equal(t, wantError[b.Reason], b.Error, b.Reason)
		if b.Reason == "exhausted" {
			require.EqualValues(t, 1, b.Deliveries)
		} else {
			require.EqualValues(t, 3, b.Deliveries, b.Reason)
		}
		require.InDelta(t, 119*60, time.Since(b.Since).Seconds(), 90, b.Reason)
		require.Equal(t, b.Reason == "exhausted" || b.Reason == "gone", b.Last != 0)
	}
	health, err := o.store.Health(t.Context())
	require.NoError(t, err)
	require.Len(t, health.OldestDelivery, len(store.DeliveryReasons()))
	for reason, age := range health.OldestDelivery {
		require.InDelta(t, 119*60, age.Seconds(), 90, reason)
	}

	// With the secret there it is a delivery like any other; what isn't there any more waits no more.
	exec(t, o.Conn, `UPDATE rowrun.webhook_delivery SET next_attempt_at = now() - interval '1 hour' WHERE status = 'PENDING'`)
	for _, d := range o.claim(t, store.DeliveryWants{Most: 100, PerWebhook: 10, Lease: time.Minute}) {
		if reasons[d.WebhookID] == "unready" {
			require.NoError(t, o.store.RecordTry(t.Context(), d, store.Try{Status: "PENDING", RetryIn: time.Hour, Problem: "no answer in time"}))
		}
	}
	exec(t, o.Conn, `DELETE FROM rowrun.webhook WHERE url = 'https://refused.example/'`)
	backlogs, err = o.store.DeliveryBacklogs(t.Context())
	require.NoError(t, err)
	for _, b := range backlogs {
		if reasons[b.WebhookID] == "unready" {
			require.Equal(t, "refused", b.Reason)
			require.Equal(t, "no answer in time", b.Error)
		} else {
			require.NotEqual(t, "refused", reasons[b.WebhookID])
		}
	}
	health, err = o.store.Health(t.Context())
	require.NoError(t, err)
	require.Zero(t, health.OldestDelivery["unready"])
}

func TestStoppedSchedulesAreToldUntilTheyAreMended(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	task := query[int64](t, o.Conn, `INSERT INTO rowrun.task (name, type, schedule) VALUES ('poll', 'NOOP', '@daily') RETURNING id`)
	stopped, err := o.store.StoppedSchedules(t.Context())
	require.NoError(t, err)
	require.Empty(t, stopped)
	exec(t, o.Conn, `SELECT rowrun.pause_schedule($1, 'no reason')`, task)
	stopped, err = o.store.StoppedSchedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, []store.StoppedSchedule{{TaskID: task, Name: "poll", Schedule: "@daily", Error: "no reason", KnownZone: true}}, stopped)
	health, err := o.store.Health(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, health.StoppedSchedules)
	exec(t, o.Conn, `UPDATE rowrun.task SET paused = false WHERE id = $1`, task)
	health, err = o.store.Health(t.Context())
	require.NoError(t, err)
	require.Zero(t, health.StoppedSchedules)
}
