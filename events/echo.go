package events

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tooManyNotifications is the SQLSTATE of a NOTIFY for which the server's queue has no room.
const tooManyNotifications = "54000"

// echoChannel is where each listener hears the echoes of all.
const echoChannel = "rowrun_echo"

// echo finds out about a connection that answers, but on which notifications no
// longer arrive. Where none came for a while it has the connection notify
// itself, in the place of a ping: the server hands that out before it says that
// the statement is done.
//
// Each notification wakes the server process of every listener, so that a hundred
// of them which each ask for themselves cost a hundred times a hundred wake-ups.
// So others hear an echo too, which proves as much to them, and each asks after
// another wait: mostly one asks for all.
type echo struct {
	channel  string
	interval time.Duration
	random   func() float64
	last     time.Time     // of a notification, or of the beginning
	wait     time.Duration // after last, until it is time to ask
	asked    bool          // and no notification came since
	askedAt  time.Time
}

// newEcho asks where no notification came for half of the interval to all of it.
func newEcho(interval time.Duration, random func() float64) *echo {
	e := &echo{channel: "rowrun_echo_" + rand.Text(), interval: interval, random: random}
	e.came()
	return e
}

// came is called for each notification, of whatever channel.
func (e *echo) came() {
	e.last, e.asked = time.Now(), false
	e.wait = time.Duration(float64(e.interval) * (1 + e.random()) / 2)
}

// due is when to ask at the latest, whatever else the server has answered.
func (e *echo) due(patience time.Duration) time.Time {
	if e.asked {
		return e.askedAt.Add(patience)
	}
	return e.last.Add(max(e.wait, patience))
}

// ask is called when it is due, and after each interval of silence.
func (e *echo) ask(ctx context.Context, k *link, timeout time.Duration) error {
	if e.asked {
		return ErrNoNotify
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if time.Since(e.last) < e.wait {
		if err := k.conn.Ping(ctx); err != nil {
			return fmt.Errorf("ping: %w", err)
		}
		return nil
	}
	e.asked, e.askedAt = true, time.Now()
	_, err := k.conn.Exec(ctx, "notify "+pgx.Identifier{e.channel}.Sanitize()+"; notify "+echoChannel) // without parameters it is one transaction
	return e.sent(err)
}

// sent takes the answer to a notification of its own. A server whose queue is full has answered, and nobody's
// notifications arrive until the queue drains: the connection is kept. A new one would have to read the whole queue first.
func (e *echo) sent(err error) error {
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == tooManyNotifications {
		e.came()
		return nil
	}
	if err != nil {
		return fmt.Errorf("notify itself: %w", err)
	}
	return nil
}
