package systemd

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a replica as a Manager sees it, and what it told.
type world struct {
	ready, alive atomic.Pointer[error]
	text         atomic.Pointer[string]
	said         chan string
}

func newWorld(t *testing.T, watchdog time.Duration) (*world, *Manager) {
	t.Helper()
	w := &world{said: make(chan string, 10_000)}
	w.set(&w.ready, errors.New("database: not reachable"))
	w.set(&w.alive, nil)
	w.says("0 of 20 running")
	m, err := New(Config{
		Lookup: func(name string) (string, bool) { return "/run/notify", name == "NOTIFY_SOCKET" },
		Ready:  func(context.Context) error { return *w.ready.Load() },
		Alive:  func(context.Context) error { return *w.alive.Load() },
		Status: func() string { return *w.text.Load() },
		Log:    zerolog.Nop(),
		notify: func(state string) error {
			w.said <- state
			return nil
		},
		watchdog: watchdog,
	})
	require.NoError(t, err)
	return w, m
}

func (w *world) set(of *atomic.Pointer[error], err error) { of.Store(&err) }
func (w *world) says(text string)                         { w.text.Store(&text) }

// heard is what was told since the last call.
func (w *world) heard() []string {
	var all []string
	for {
		select {
		case state := <-w.said:
			all = append(all, state)
		default:
			return all
		}
	}
}

// during runs a Manager around what happens.
func during(t *testing.T, m *Manager, happens func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	synctest.Wait()
	happens()
	stop()
	require.NoError(t, <-ended)
}

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestReadyIsToldOnceAndWithWhatWasWaitedForBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, m := newWorld(t, 0)
		during(t, m, func() {
			pass(10 * time.Second)
			require.Equal(t, []string{"STATUS=not ready: database: not reachable"}, w.heard())
			w.set(&w.ready, nil)
			pass(10 * time.Second)
			require.Equal(t, []string{"READY=1", "STATUS=0 of 20 running"}, w.heard())
			w.set(&w.ready, errors.New("lost"))
			w.says("no contact\nREADY=1")
			pass(10 * time.Second)
			require.Equal(t, []string{"STATUS=no contact READY=1"}, w.heard(), "ready is said once, and a text brings no lines of its own")
			m.Stopping()
			require.Equal(t, []string{"STOPPING=1"}, w.heard())
		})
	})
}

func TestWatchdogIsToldOfTheLivingOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, m := newWorld(t, 30*time.Second)
		during(t, m, func() {
			pass(59 * time.Second) // not ready, and alive
			require.Equal(t, 6, strings.Count(strings.Join(w.heard(), "\n"), "WATCHDOG=1"))
			w.set(&w.alive, errors.New("it stands still"))
			pass(2 * time.Minute)
			require.Empty(t, w.heard())
			w.set(&w.alive, nil)
			pass(10 * time.Second)
			require.Equal(t, []string{"WATCHDOG=1"}, w.heard())
		})
	})
}

func TestNobodyIsToldWhereNobodyListens(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	m, err := New(Config{Lookup: none, Ready: func(context.Context) error { return nil }, Alive: func(context.Context) error { return nil }, Status: func() string { return "" }})
	require.NoError(t, err)
	require.Nil(t, m)
	m.Stopping()
	require.NoError(t, m.Run(t.Context()))
	Say(none, "nothing")
}

func TestLongStatusIsCut(t *testing.T) {
	t.Parallel()
	require.Len(t, []rune(oneLine(strings.Repeat("é", 1000))), maxStatus)
}
