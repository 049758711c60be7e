package notifier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

const (
	// A try takes at most 15 s; the lease leaves 10 to record it.
	lease = 25 * time.Second
	// callTimeout bounds each call of the database.
	callTimeout = 5 * time.Second
	// slowTry is how long a try takes at least whose webhook counts as slow, and slowFor for how long it does unless another tells.
	slowTry, slowFor = time.Second, 10 * time.Minute
	// maxPause is the pause after a wake-up that found nothing, when many of them come; see Config.Shared.
	maxPause = 100 * time.Millisecond
)

// Message is what one try sends, and where.
type Message struct {
	// ID and Body are the same at every try.
	ID, Body string
	// ContentType is what the body is; "": application/json.
	ContentType string
	// URL is an http or https URL, env:NAME or file:PATH; SecretRef env:NAME, file:PATH or "" for unsigned.
	URL, SecretRef string
}

// Answer is what became of one try.
type Answer struct {
	// Code is the HTTP status, 0: no answer came.
	Code int
	// Problem says what went wrong, in words that name neither URL nor secret, nor where they stand. "": the message was delivered.
	Problem string
	// Named is Problem with the reference that it is about, for who may read that; "": it is about none.
	Named string
	// Unready: nothing was sent, as the URL or the secret is not to be had here.
	Unready bool
	// RetryAfter is how long the receiver asked to be left alone, 0: it didn't.
	RetryAfter time.Duration
	// Body is the beginning of the answer's body.
	Body []byte
}

// Config says what a notifier works with. What is zero gets its default.
type Config struct {
	// Store is the database. Required.
	Store *store.Store
	// Send makes one try, within a time that it bounds itself: at most 15 s. Required; safe for concurrent use.
	Send func(context.Context, Message) Answer
	// Workers is how many tries are under way at once, 64 by default; PerWebhook how many to one webhook, 2.
	Workers, PerWebhook int
	// SweepInterval (default 5 s): how often to look for what no wake-up announced.
	SweepInterval time.Duration
	// DrainTimeout (default 30 s) bounds how long tries under way may take after a stop was asked for.
	DrainTimeout time.Duration
	// PublicURL is that of the dashboard, to which messages link; "": they don't.
	PublicURL string
	// Wake says that something may be due: "look again", no more. nil: only sweeps.
	Wake <-chan struct{}
	// Looked, where not nil, tells of somebody else's looks at the database: whether a delivery was due. As long as they
	// come and find none, no sweep is made.
	Looked <-chan bool
	// Shared, where not nil, makes a pause longer where many replicas deliver.
	Shared func(time.Duration) time.Duration
	// Tried, where not nil, is told how each try ended, as soon as that is recorded. It must return at once and may be
	// called from many goroutines.
	Tried func(Outcome)
	Log   zerolog.Logger
}

// Outcome is how a try ended.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"
	Refused   Outcome = "refused"   // not delivered; it will be tried again
	Exhausted Outcome = "exhausted" // not delivered, and it was the last try
	Gone      Outcome = "gone"      // the receiver is gone (410): the webhook is disabled
	Unready   Outcome = "unready"   // nothing was sent: its URL or secret is not to be had here
)

// Outcomes are all there are.
func Outcomes() []Outcome { return []Outcome{Delivered, Refused, Exhausted, Gone, Unready} }

func (n *Notifier) tried(outcome Outcome) {
	if n.cfg.Tried != nil {
		n.cfg.Tried(outcome)
	}
}

// Notifier delivers what is due. Make one with New.
type Notifier struct {
	cfg   Config
	freed chan struct{} // a worker is done: there may be more for its webhook
	errs  failures

	mu       sync.Mutex
	underWay int
	busy     map[int64]int       // webhook → tries under way
	slow     map[int64]time.Time // webhook → when its last try ended, if that took long
	unready  map[int64]struct{}  // webhooks that are left alone until the next sweep
	said     map[int64]string    // webhook → why it waits, as it was logged
}

// New checks a configuration and starts nothing.
func New(cfg Config) (*Notifier, error) {
	if cfg.Store == nil || cfg.Send == nil {
		return nil, errors.New("a notifier needs a store and a way to send")
	}
	for _, number := range []struct {
		value    *int
		fallback int
	}{{&cfg.Workers, 64}, {&cfg.PerWebhook, 2}} {
		if *number.value < 0 {
			return nil, fmt.Errorf("notifier: %d is below 0", *number.value)
		}
		if *number.value == 0 {
			*number.value = number.fallback
		}
	}
	if cfg.SweepInterval < 0 || cfg.DrainTimeout < 0 {
		return nil, errors.New("notifier: a duration is below 0")
	}
	if cfg.SweepInterval == 0 {
		cfg.SweepInterval = 5 * time.Second
	}
	if cfg.DrainTimeout == 0 {
		cfg.DrainTimeout = 30 * time.Second
	}
	return &Notifier{
		cfg: cfg, freed: make(chan struct{}, 1), errs: failures{log: cfg.Log},
		busy: map[int64]int{}, slow: map[int64]time.Time{}, unready: map[int64]struct{}{}, said: map[int64]string{},
	}, nil
}

// Run delivers until ctx ends; then it claims nothing more and returns when the tries under way are over.
func (n *Notifier) Run(ctx context.Context) error {
	tries, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var workers sync.WaitGroup
	defer context.AfterFunc(ctx, func() {
		hold(tries, n.cfg.DrainTimeout)
		stop()
	})()
	n.loop(ctx, func(d store.Delivery) { workers.Go(func() { n.deliver(tries, d) }) })
	workers.Wait()
	return nil
}

// loop makes a pass at the start, at each wake-up, whenever a worker is free again, when the next delivery is due, and
// at each sweep.
func (n *Notifier) loop(ctx context.Context, start func(store.Delivery)) {
	var pause time.Duration
	var sweep time.Time
	for ctx.Err() == nil {
		if !time.Now().Before(sweep) {
			sweep = time.Now().Add(n.cfg.SweepInterval)
			n.forgiveUnready()
		}
		found, next, err := n.pass(ctx, start)
		var due time.Time
		if err == nil && next > 0 {
			due = time.Now().Add(next)
		}
		woken := n.await(ctx, &sweep, due)
		switch {
		case found > 0:
			pause = 0
		case woken:
			// The first few are looked after at once. Where they come without end and find nothing, as under a load of
			// runs without plans, each costs a query: they are taken together.
			hold(ctx, jitter(pause, 0.5, 1.5))
			pause = min(2*pause+time.Millisecond, n.longest())
		case !time.Now().Before(sweep):
			pause = 0
		}
	}
}

// longest is the longest pause between looks that found nothing.
func (n *Notifier) longest() time.Duration {
	if n.cfg.Shared == nil {
		return maxPause
	}
	return n.cfg.Shared(maxPause)
}

// await returns when there may be something to do, and whether it was a wake-up that said so: at the sweep at the latest,
// which a look of somebody else's brings about or puts off. due is when the next delivery is, zero: none is known.
func (n *Notifier) await(ctx context.Context, sweep *time.Time, due time.Time) (woken bool) {
	for {
		until := *sweep
		if !due.IsZero() && due.Before(until) {
			until = due
		}
		timer := time.NewTimer(max(time.Until(until), time.Millisecond))
		select {
		case <-ctx.Done():
		case <-n.freed:
		case <-timer.C:
		case <-n.cfg.Wake:
			woken = true
		case found := <-n.cfg.Looked:
			timer.Stop()
			*sweep = time.Now()
			if !found {
				*sweep = sweep.Add(n.cfg.SweepInterval + n.cfg.SweepInterval/2)
				continue
			}
		}
		timer.Stop()
		return woken
	}
}

// hold waits for d, or until ctx ends.
func hold(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// pass claims what is due and starts it; how many, and when the next will be due.
func (n *Notifier) pass(ctx context.Context, start func(store.Delivery)) (int, time.Duration, error) {
	wants := n.wants()
	if wants.Most == 0 {
		return 0, 0, nil // a worker that becomes free looks again
	}
	// A claim under way when the stop comes is brought to its end: the tries that it has got are made.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	claimed, next, err := n.cfg.Store.ClaimDeliveries(call, wants)
	n.errs.claimed(ctx, err)
	if len(claimed) > 0 {
		CrashPoint("after-claim")
	}
	n.mu.Lock()
	n.underWay += len(claimed)
	for _, d := range claimed {
		n.busy[d.WebhookID]++
	}
	n.mu.Unlock()
	for _, d := range claimed {
		start(d)
	}
	return len(claimed), next, err
}

// wants says what may be claimed beside what is under way. First tries of webhooks that aren't slow may take any place; all
// others share a third of them, so that no number of endpoints that hang has them all.
func (n *Notifier) wants() store.DeliveryWants {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := store.DeliveryWants{
		Most: n.cfg.Workers - n.underWay, PerWebhook: n.cfg.PerWebhook, Lease: lease, PublicURL: n.cfg.PublicURL,
		Busy: make(map[int64]int, len(n.busy)+len(n.unready)),
	}
	for id, at := range n.slow {
		if time.Since(at) > slowFor {
			delete(n.slow, id)
			continue
		}
		w.Slow = append(w.Slow, id)
	}
	shared := max(n.cfg.Workers/3, 1)
	for id, count := range n.busy {
		w.Busy[id] = count
		if _, slow := n.slow[id]; !slow {
			count-- // its first
		}
		shared -= count
	}
	w.Kept = max(w.Most-max(shared, 0), 0)
	for id := range n.unready {
		w.Busy[id] = n.cfg.PerWebhook
	}
	return w
}

// took remembers whether a webhook is slow.
func (n *Notifier) took(webhook int64, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d < slowTry {
		delete(n.slow, webhook)
		return
	}
	n.slow[webhook] = time.Now()
}

// done gives a worker's place back.
func (n *Notifier) done(d store.Delivery) {
	n.mu.Lock()
	n.underWay--
	if n.busy[d.WebhookID]--; n.busy[d.WebhookID] == 0 {
		delete(n.busy, d.WebhookID)
	}
	n.mu.Unlock()
	select {
	case n.freed <- struct{}{}:
	default:
	}
}
