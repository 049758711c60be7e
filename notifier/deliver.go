package notifier

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rowrun/rowrun/store"
)

// deliver makes one try and records it. ctx ends when the drain is over.
func (n *Notifier) deliver(ctx context.Context, d store.Delivery) {
	defer n.done(d)
	CrashPoint("before-send")
	begun := time.Now()
	answer := n.cfg.Send(ctx, Message{ID: d.MessageID, Body: d.Payload, ContentType: d.ContentType, URL: d.URL, SecretRef: d.SecretRef})
	CrashPoint("after-send")
	switch {
	case answer.Problem != "" && ctx.Err() != nil:
		// It was this process that gave up. Somebody else tries.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := n.cfg.Store.ReleaseDelivery(last, d, ""); err != nil {
			n.cfg.Log.Debug().Int64("delivery_id", d.ID).Msg("delivery not given back, its lease runs out")
		}
	case answer.Unready:
		n.waits(d, cmp.Or(answer.Named, answer.Problem))
		if n.record(ctx, func(call context.Context) error { return n.cfg.Store.ReleaseDelivery(call, d, answer.Problem) }) {
			n.tried(Unready)
		}
	default:
		n.took(d.WebhookID, time.Since(begun))
		n.ready(d)
		n.settle(ctx, d, answer)
	}
}

// settle records what was answered and says so.
func (n *Notifier) settle(ctx context.Context, d store.Delivery, answer Answer) {
	try := judge(d.Attempts+1, answer)
	if answer.Code == http.StatusGone {
		var count int64
		if n.record(ctx, func(call context.Context) (err error) {
			count, err = n.cfg.Store.DisableWebhook(call, d, try)
			return err
		}) {
			n.tried(Gone)
			n.cfg.Log.Warn().Int64("webhook_id", d.WebhookID).Int64("deliveries", count).
				Msg("webhook disabled, its endpoint says that it is gone")
			return
		}
		// Its URL was changed meanwhile: that the old one is gone is a failure like any other.
	}
	if !n.record(ctx, func(call context.Context) error { return n.cfg.Store.RecordTry(call, d, try) }) {
		return
	}
	log := n.cfg.Log.Warn()
	text, outcome := "webhook delivery failed, it will be tried again", Refused
	switch try.Status {
	case "DELIVERED":
		log, text, outcome = n.cfg.Log.Info(), "webhook delivered", Delivered
	case "EXHAUSTED":
		outcome = Exhausted
		text = "webhook delivery failed for good, its tries are used up"
	default:
		log = log.Float64("retry_ms", float64(try.RetryIn.Milliseconds()))
	}
	n.tried(outcome)
	if try.Problem != "" {
		log = log.Str("problem", try.Problem)
	}
	for _, of := range []struct {
		name string
		id   int64
	}{{"plan_id", d.PlanID}, {"run_id", d.RunID}, {"task_id", d.TaskID}} {
		if of.id != 0 {
			log = log.Int64(of.name, of.id)
		}
	}
	log.Int64("delivery_id", d.ID).Int64("webhook_id", d.WebhookID).Str("event", d.EventType).Int("attempt", d.Attempts+1).Msg(text)
}

// record writes until it is written (true) or refused; a database that is away is waited for. What is not recorded when
// the drain is over is sent again by somebody else.
func (n *Notifier) record(ctx context.Context, write func(context.Context) error) bool {
	CrashPoint("before-record")
	waits := false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := write(call)
		cancel()
		if err == nil {
			CrashPoint("after-record")
			return true
		}
		if errors.Is(err, store.ErrStale) || ctx.Err() != nil {
			return false
		}
		n.errs.waits(err, !waits)
		if !waits {
			waits = true
			defer n.errs.recorded(ctx)
		}
		hold(ctx, pause)
	}
}

// waits leaves a webhook alone until the next sweep, and says why, once.
func (n *Notifier) waits(d store.Delivery, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unready[d.WebhookID] = struct{}{}
	if n.said[d.WebhookID] != why {
		n.said[d.WebhookID] = why
		n.cfg.Log.Warn().Int64("webhook_id", d.WebhookID).Str("problem", why).Msg("webhook deliveries wait")
	}
}

func (n *Notifier) ready(d store.Delivery) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, waited := n.said[d.WebhookID]; waited {
		delete(n.said, d.WebhookID)
		n.cfg.Log.Info().Int64("webhook_id", d.WebhookID).Msg("webhook deliveries go on")
	}
}

// forgiveUnready lets the webhooks be tried again that could not be before.
func (n *Notifier) forgiveUnready() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.unready)
}
