package systemd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

const (
	// lookForReady is how often a replica that is not ready yet is asked whether it is.
	lookForReady = 250 * time.Millisecond
	// lookForStatus is how often the status is told where it has changed.
	lookForStatus = 2 * time.Second
	// maxStatus keeps a status within a datagram, and readable.
	maxStatus = 300
)

// Config is what a Manager needs.
type Config struct {
	// Lookup finds the variables that the manager has set. Required.
	Lookup func(name string) (string, bool)
	// Ready returns nil when the replica takes work, before that what it waits for. Required.
	Ready func(ctx context.Context) error
	// Alive returns nil while this process works as it should, whatever the database does. Required.
	Alive func(ctx context.Context) error
	// Status says in a few words how the replica is; it must return at once. Required.
	Status func() string
	// Log gets what can't be sent, and why no WATCHDOG=1 was.
	Log zerolog.Logger

	notify   func(state string) error // tests
	watchdog time.Duration            // tests
}

// Manager tells the service manager how a replica is.
type Manager struct {
	cfg    Config
	told   string // the last STATUS
	failed sync.Once
}

// Listening says that a service manager wants to be told.
func Listening(lookup func(string) (string, bool)) bool {
	socket, _ := lookup("NOTIFY_SOCKET")
	return socket != ""
}

// Say tells the manager in words what happens before there is a replica.
func Say(lookup func(string) (string, bool), status string) {
	if Listening(lookup) {
		_, _ = daemon.SdNotify(false, "STATUS="+oneLine(status)) // what follows says so in the log
	}
}

// New returns nil where no service manager listens.
func New(cfg Config) (*Manager, error) {
	if cfg.Lookup == nil || cfg.Ready == nil || cfg.Alive == nil || cfg.Status == nil {
		return nil, errors.New("a service manager's teller needs Lookup, Ready, Alive and Status")
	}
	if !Listening(cfg.Lookup) {
		return nil, nil
	}
	if cfg.notify == nil {
		cfg.notify = func(state string) error {
			_, err := daemon.SdNotify(false, state)
			return err
		}
		var err error
		if cfg.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
			cfg.Log.Warn().Err(err).Msg("the service manager's watchdog can't be told")
		}
	}
	return &Manager{cfg: cfg}, nil
}

// Run tells until ctx ends. It returns nil.
func (m *Manager) Run(ctx context.Context) error {
	if m == nil {
		return nil
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	if m.cfg.watchdog > 0 {
		watching.Go(func() { m.watch(ctx) })
	}
	if !m.start(ctx) {
		return nil
	}
	tick := time.NewTicker(lookForStatus)
	defer tick.Stop()
	for {
		m.status(m.cfg.Status())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Stopping tells that the drain has begun.
func (m *Manager) Stopping() {
	if m != nil {
		m.send("STOPPING=1")
	}
}

// start waits until the replica is ready, and tells it. False: ctx ended before.
func (m *Manager) start(ctx context.Context) bool {
	tick := time.NewTicker(lookForReady)
	defer tick.Stop()
	for {
		err := m.cfg.Ready(ctx)
		if err == nil {
			m.send("READY=1")
			return true
		}
		m.status("not ready: " + err.Error())
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// watch tells the watchdog that this process lives, each time that it was found to.
func (m *Manager) watch(ctx context.Context) {
	every := m.cfg.watchdog / 3
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		asked, cancel := context.WithTimeout(ctx, every)
		err := m.cfg.Alive(asked)
		cancel()
		switch {
		case err == nil:
			m.send("WATCHDOG=1")
		case ctx.Err() == nil:
			m.cfg.Log.Error().Err(err).Msg("not alive: the service manager's watchdog is not told, and will end this process")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m *Manager) status(text string) {
	if text = oneLine(text); text != m.told {
		m.told = text
		m.send("STATUS=" + text)
	}
}

func (m *Manager) send(state string) {
	if err := m.cfg.notify(state); err != nil {
		m.failed.Do(func() { m.cfg.Log.Warn().Err(err).Msg("the service manager can't be told") })
	}
}

// oneLine keeps a status from bringing assignments of its own.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if runes := []rune(text); len(runes) > maxStatus {
		text = string(runes[:maxStatus-1]) + "…"
	}
	return text
}
