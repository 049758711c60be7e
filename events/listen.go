package events

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store/session"
)

// look is the payload of a notification that tells nothing.
const look = "[]"

// ErrNotConnected is returned by Do where there is no connection, or where it
// was lost before the function began.
var ErrNotConnected = errors.New("not connected")

// ListenConfig says what a Listener listens to, and how closely it watches its connection.
type ListenConfig struct {
	// ConnConfig comes from pgx.ParseConfig. Required. It should lead to the
	// server itself or to a pooler in session mode, see Probe.
	ConnConfig *pgx.ConnConfig
	// Channel is listened to, taken literally, 1 to 63 bytes. Required.
	Channel string
	// Hub receives the signals. Required.
	Hub *Hub
	// Log gets a line when notifications are heard, and one when they no longer
	// are, and why. The zero value says nothing.
	Log zerolog.Logger
	// AppName is the session's application_name. Default: that of ConnConfig,
	// or "rowrun listen" where it has none.
	AppName string
	// PingInterval is how long the connection may be silent before it is asked
	// whether it is still there. Default 5 s.
	PingInterval time.Duration
	// PingTimeout bounds the answer to a ping, and each function given to Do. Default 2 s.
	PingTimeout time.Duration
	// ConnectTimeout bounds connecting, for each host of ConnConfig, and
	// after that the session's set-up with OnConnect. Default 5 s.
	ConnectTimeout time.Duration
	// Probe has each new connection prove that notifications arrive on it, as
	// ProbeListen does, before anything else is done with it.
	Probe bool
	// ProbeInterval is how long no notification may have come, at most, before one is sent
	// to prove that they still arrive (at least half of it: which listener sends one is
	// by chance, and all hear it), and when a connection is tried again on
	// which they didn't. Default 30 s.
	ProbeInterval time.Duration
	// Own, where not nil, says whether a server process serves a session of this process. What it announces wakes nobody
	// who subscribed to others.
	Own func(serverPID uint32) bool
	// OnConnect, where not nil, is called on each new connection before LISTEN.
	// An error costs the connection. It must not leave a transaction open.
	OnConnect func(ctx context.Context, conn *pgx.Conn) error
	// Random gives numbers from 0 on, below 1, which keep apart in time what listeners do whose connections were lost together.
	// Default: by chance.
	Random func() float64
	// OnDisconnect, where not nil, is called once for each OnConnect that
	// returned nil, when the connection is given up and before it is closed. It
	// must return quickly: a session lock of the connection is held meanwhile.
	OnDisconnect func()
}

// Listener keeps one connection listening and feeds a Hub with what it hears.
type Listener struct {
	config     ListenConfig
	mostQueued float64 // see mostQueued; less in tests

	running     atomic.Bool
	connected   atomic.Bool
	deaf        atomic.Bool
	reconnects  atomic.Uint64
	undecodable atomic.Uint64
	skipped     atomic.Uint64

	mu        sync.Mutex
	open      bool // requests are taken
	requests  []*request
	interrupt context.CancelFunc // ends the wait for a notification; nil while there is none

	lost string // why the last connection was lost; "" before the first. Run only.
	said string // reason of the error that was logged last. Run only.
	told bool   // the log says that notifications are heard. Run only.
	// Run only.
	budget   *budget
	oddSaid  time.Time // when a payload that is none of ours was logged last
	skipSaid time.Time // when notifications that weren't read were
}

// Stats are a Listener's counters since it was made.
type Stats struct {
	Reconnects  uint64 // connections that listened, after the first
	Undecodable uint64 // notifications whose payload was not one of ours
	Skipped     uint64 // notifications that were not read because there were too many
}

// NewListener validates the configuration and fills in its defaults. It does not connect.
func NewListener(config ListenConfig) (*Listener, error) {
	switch {
	case config.ConnConfig == nil:
		return nil, errors.New("listener: ConnConfig is required")
	case config.Channel == "" || len(config.Channel) > 63:
		return nil, errors.New("listener: Channel must have 1 to 63 bytes")
	case config.Hub == nil:
		return nil, errors.New("listener: Hub is required")
	case config.PingInterval < 0 || config.PingTimeout < 0 || config.ConnectTimeout < 0 || config.ProbeInterval < 0:
		return nil, errors.New("listener: intervals and timeouts must not be negative")
	}
	withDefault := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	withDefault(&config.PingInterval, 5*time.Second)
	withDefault(&config.PingTimeout, 2*time.Second)
	withDefault(&config.ConnectTimeout, 5*time.Second)
	withDefault(&config.ProbeInterval, 30*time.Second)
	if config.Random == nil {
		config.Random = rand.Float64
	}

	config.ConnConfig = config.ConnConfig.Copy()
	if config.ConnConfig.RuntimeParams == nil {
		config.ConnConfig.RuntimeParams = map[string]string{}
	}
	if config.AppName == "" {
		config.AppName = config.ConnConfig.RuntimeParams["application_name"]
	}
	if config.AppName == "" {
		config.AppName = "rowrun listen"
	}
	config.ConnConfig.RuntimeParams["application_name"] = config.AppName
	session.Encode(config.ConnConfig)
	return &Listener{config: config, mostQueued: mostQueued, budget: newBudget()}, nil
}

// Connected is true while notifications are heard, as far as the last ping tells.
func (l *Listener) Connected() bool { return l.connected.Load() }

// Deaf is true from the moment that notifications didn't arrive on a connection
// (ErrNoNotify) until there is one on which they do.
func (l *Listener) Deaf() bool { return l.deaf.Load() }

// Stats returns the counters.
func (l *Listener) Stats() Stats {
	return Stats{Reconnects: l.reconnects.Load(), Undecodable: l.undecodable.Load(), Skipped: l.skipped.Load()}
}
