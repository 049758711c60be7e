package events

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	firstRetry = 50 * time.Millisecond
	// maxRetry bounds the time between two tries. A connection that held for
	// less is no success: it neither starts the backoff anew nor the log.
	maxRetry = time.Second
	// sayAgain is how often trouble with notifications is logged, as anybody may cause it.
	sayAgain = time.Minute
)

// Run connects, listens and reconnects until ctx ends; then it returns nil and
// leaves nothing running. An outage is no error: it is logged, and tried again.
// Run may be called again after it returned, not while it runs.
func (l *Listener) Run(ctx context.Context) error {
	if !l.running.CompareAndSwap(false, true) {
		return errors.New("listener: already running")
	}
	defer l.running.Store(false)

	retry := &backoff.ExponentialBackOff{
		InitialInterval: firstRetry, MaxInterval: maxRetry, Multiplier: 2,
	}
	for atOnce := true; ; atOnce = false {
		up, err := l.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if up >= maxRetry {
			retry.Reset()
			l.said, atOnce = "", true
		}
		l.complain(err)
		if errors.Is(err, ErrNoNotify) {
			l.deaf.Store(true)
		}
		// Others have lost their connections at the same moment, and would all come back at the next.
		var wait time.Duration
		switch {
		case atOnce:
			wait = l.sooner(firstRetry, 0)
		case errors.Is(err, ErrNoNotify):
			wait = l.sooner(l.config.ProbeInterval, 0.9) // a pooler stays one for a while
		case errors.Is(err, ErrQueueFull):
			wait = l.sooner(l.config.PingInterval, 0.9)
		default:
			wait = l.sooner(retry.NextBackOff(), 0.5)
		}
		pause := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}

// sooner is at least that part of a wait.
func (l *Listener) sooner(d time.Duration, least float64) time.Duration {
	return time.Duration(float64(d) * (least + (1-least)*l.config.Random()))
}

// session is the life of one connection. It returns how long the connection
// listened, and why it ended.
func (l *Listener) session(ctx context.Context) (up time.Duration, err error) {
	c := &l.config
	k, err := dial(ctx, c.ConnConfig, c.ConnectTimeout)
	if err != nil {
		return 0, err
	}
	defer k.close()

	if err := roomToListen(ctx, k, l.mostQueued); err != nil {
		return 0, err
	}
	if c.Probe {
		if err := probe(ctx, c.ConnConfig, k); err != nil {
			return 0, err
		}
	}
	setup, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
	defer cancel()
	silence := c.PingInterval + c.PingTimeout
	if err := k.setSession(setup, c.ConnectTimeout, c.PingInterval, silence+silence/2); err != nil {
		return 0, err
	}
	if c.OnConnect != nil {
		if err := c.OnConnect(setup, k.conn); err != nil {
			return 0, fmt.Errorf("on connect: %w", err)
		}
	}
	if c.OnDisconnect != nil {
		defer c.OnDisconnect() // before k.close
	}
	if err := k.usable(); err != nil {
		return 0, err
	}
	e := newEcho(c.ProbeInterval, c.Random)
	for _, channel := range []string{c.Channel, e.channel, echoChannel} {
		if _, err := k.conn.Exec(setup, "listen "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return 0, fmt.Errorf("listen: %w", err)
		}
	}
	cancel()

	began := time.Now()
	l.up()
	defer l.down()
	err = l.serve(ctx, k, e)
	l.lost = "connection lost: " + reason(err)
	if ctx.Err() != nil {
		l.lost = "listening was stopped"
	}
	return time.Since(began), err
}

// up opens for business. LISTEN is committed: whoever looks now misses nothing.
func (l *Listener) up() {
	l.mu.Lock()
	l.open = true
	l.mu.Unlock()
	l.connected.Store(true)
	l.deaf.Store(false)
	if !l.told {
		l.told = true
		l.config.Log.Info().Str("channel", l.config.Channel).Msg("listening for notifications")
	}
	if l.lost == "" {
		l.config.Hub.Wake()
		return
	}
	l.reconnects.Add(1)
	l.config.Hub.gap(l.lost)
}

func (l *Listener) down() {
	l.connected.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = false
	for _, r := range l.requests {
		r.done <- ErrNotConnected
	}
	l.requests = nil
}

// serve hears notifications, runs requests between them, and asks after each
// interval in which the server said nothing whether it is still there, and after
// each in which no notification came whether it can be heard.
func (l *Listener) serve(ctx context.Context, k *link, e *echo) error {
	heard := time.Now()
	for {
		answered, err := l.runRequests(ctx, k)
		if err != nil {
			return err
		}
		if answered {
			heard = time.Now()
		}
		deadline := heard.Add(l.config.PingInterval)
		if due := e.due(l.config.PingInterval); due.Before(deadline) {
			deadline = due
		}
		n, err := l.wait(ctx, k, deadline)
		switch {
		case n != nil:
			heard = time.Now()
			e.came()
			l.deliver(n)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("wait for notifications: %w", err)
		case !time.Now().Before(deadline):
			if err := e.ask(ctx, k, l.config.PingTimeout); err != nil {
				return err
			}
			heard = time.Now()
		}
	}
}

// wait returns a notification, or nil where the deadline, a request or the end
// of ctx came first. An error means that the connection is lost.
func (l *Listener) wait(ctx context.Context, k *link, deadline time.Time) (*pgconn.Notification, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	l.mu.Lock()
	if len(l.requests) > 0 {
		l.mu.Unlock()
		return nil, nil
	}
	l.interrupt = cancel
	l.mu.Unlock()

	n, err := k.conn.WaitForNotification(ctx)

	l.mu.Lock()
	l.interrupt = nil
	l.mu.Unlock()
	if n != nil {
		return n, nil
	}
	// pgx keeps the connection where only the context ended the wait.
	if ctx.Err() != nil && !k.conn.IsClosed() {
		return nil, nil
	}
	return nil, err
}

// deliver hands on what a notification says. Whoever can connect can send one: what is none of ours is dropped before it
// is decoded, and what is beyond the budget is not read at all.
func (l *Listener) deliver(n *pgconn.Notification) {
	if n.Channel != l.config.Channel {
		return // an echo, or a function given to Do or OnConnect listens to more
	}
	if n.Payload == look {
		l.config.Hub.Wake()
		return
	}
	own := l.config.Own != nil && l.config.Own(n.PID)
	now := time.Now()
	if !own && !l.budget.read(n.PID, len(n.Payload), now) {
		l.skip(n.PID, now)
		return
	}
	transitions, ok := decodeWritten(n.Payload)
	if !ok || !utf8.ValidString(n.Payload) {
		transitions = nil
		var err error
		switch {
		case !plausible(n.Payload):
			err = errPayload
		case !own && !l.budget.decode(now):
			l.skip(n.PID, now)
			return
		default:
			transitions, err = decode(n.Payload)
		}
		if err != nil {
			l.odd(n.PID, now)
			return
		}
	}
	l.config.Hub.publish(transitions, own)
}

// odd takes a notification that is none of ours: a reason to look.
func (l *Listener) odd(sender uint32, now time.Time) {
	l.undecodable.Add(1)
	if now.Sub(l.oddSaid) >= sayAgain {
		l.oddSaid = now
		l.config.Log.Warn().Str("channel", l.config.Channel).Uint32("pid", sender).Uint64("count", l.undecodable.Load()).
			Msg("notification not understood; looking instead")
	}
	l.config.Hub.Wake()
}

// skip takes a notification that is not read because there are too many: what it may have told is looked for.
func (l *Listener) skip(sender uint32, now time.Time) {
	l.skipped.Add(1)
	if now.Sub(l.skipSaid) >= sayAgain {
		l.skipSaid = now
		l.config.Log.Warn().Str("channel", l.config.Channel).Uint32("pid", sender).Uint64("count", l.skipped.Load()).
			Msg("more notifications than are read; looking instead, at rows (pg_stat_activity says who the sender is)")
	}
	l.config.Hub.skip()
}

// complain logs why notifications aren't heard, once until the reason changes
// or a connection held.
func (l *Listener) complain(err error) {
	why := reason(err)
	if why == l.said {
		return
	}
	l.said, l.told = why, false
	l.config.Log.Warn().Err(err).Str("channel", l.config.Channel).Msg("not listening for notifications; trying again")
}
