package events_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestTransitionsArriveInCommitOrder(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), nil)
	first, second := session(t, url), session(t, url)

	const n = 300
	want := []int64{}
	for i := int64(0); i < n; i += 3 {
		payloads, err := events.Encode(transitions(i, i+1))
		require.NoError(t, err)
		// Begun first, committed last: the commit counts.
		tx, err := first.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "select pg_notify($1, $2)", channel, payloads[0])
		require.NoError(t, err)
		payloads, err = events.Encode(transitions(i + 2))
		require.NoError(t, err)
		notify(t, second, payloads[0])
		require.NoError(t, tx.Commit(t.Context()))
		want = append(want, i+2, i, i+1)
	}
	got := []int64{}
	for len(got) < n {
		batch := h.next(t)
		require.Empty(t, batch.Gap)
		for _, transition := range batch.Reached {
			got = append(got, transition.RunID)
		}
	}
	require.Equal(t, want, got)
	require.Zero(t, h.Stats())
}

func TestLookAndUndecodablePayloadsWakeAndKeepTheConnection(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), nil)
	wakes, cancel := h.hub.Subscribe(nil)
	defer cancel()
	<-wakes
	conn := session(t, url)

	notify(t, conn, "[]")
	wait(t, "a wake", wakes)
	require.Equal(t, events.Batch{Look: true}, h.next(t))

	for range 3 {
		notify(t, conn, "hunter2")
		wait(t, "a wake", wakes)
		require.Equal(t, events.Batch{Look: true}, h.next(t), "no gap: anybody can send one")
	}
	require.Equal(t, events.Stats{Undecodable: 3}, h.Stats())
	require.Equal(t, 1, h.log.count("notification not understood"))
	require.Zero(t, h.log.count("hunter2"))

	payloads, err := events.Encode(transitions(1))
	require.NoError(t, err)
	notify(t, conn, payloads[0])
	wait(t, "a wake", wakes)
	require.Equal(t, events.Batch{Reached: reached(1)}, h.next(t))
}

func TestOtherChannelsOfTheConnectionAreNotHeard(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.OnConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "listen other")
			return err
		}
	})
	conn := session(t, url)
	_, err := conn.Exec(t.Context(), "notify other, 'not ours'")
	require.NoError(t, err)
	payloads, err := events.Encode(transitions(1))
	require.NoError(t, err)
	notify(t, conn, payloads[0])
	require.Equal(t, events.Batch{Reached: reached(1)}, h.next(t))
	require.Zero(t, h.Stats())
}

func TestAQuietConnectionIsPingedAndKept(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.PingInterval, c.AppName = 20*time.Millisecond, "quiet"
	})
	conn := session(t, url)
	// state_change moves with each ping.
	const pinged = "select coalesce(max(state_change), '-infinity') > $1 from pg_stat_activity where datname = current_database() and application_name = 'quiet'"
	for range 3 {
		var since time.Time
		require.NoError(t, conn.QueryRow(t.Context(), "select now()").Scan(&since))
		require.Eventually(t, func() bool {
			var yes bool
			return conn.QueryRow(t.Context(), pinged, since).Scan(&yes) == nil && yes
		}, patience, 5*time.Millisecond)
	}
	require.Zero(t, h.Stats().Reconnects)
}

func TestTheServerBoundsTheSession(t *testing.T) {
	t.Parallel()
	// Over TCP: on a socket the server shows 0 for what concerns the network.
	config := connConfig(t, storetest.Cluster(t).URL("postgres"))
	config.RuntimeParams["default_transaction_isolation"] = "serializable" // as a database's default
	h := listen(t, config, nil)
	want := map[string]string{
		"default_transaction_isolation": "read committed",
		"application_name":              "rowrun listen", "idle_session_timeout": "0",
		"statement_timeout": "5000", "idle_in_transaction_session_timeout": "5000",
		// Later than the client, which gives up after 7 s.
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "1", "tcp_user_timeout": "10500",
	}
	got := map[string]string{}
	require.NoError(t, h.Do(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select name, setting from pg_settings where name = any($1)",
			slices.Collect(maps.Keys(want)))
		if err != nil {
			return err
		}
		var name, setting string
		_, err = pgx.ForEachRow(rows, []any{&name, &setting}, func() error { got[name] = setting; return nil })
		return err
	}))
	require.Equal(t, want, got)
}

func TestATerminatedBackendIsReplacedAndTheGapSaysWhy(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	const lock = 42
	var h *harness
	order := make(chan string, 10)
	h = listen(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.OnConnect = func(ctx context.Context, conn *pgx.Conn) error {
			order <- fmt.Sprint("connect, heard: ", h != nil && h.Connected())
			_, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lock)
			return err
		}
		c.OnDisconnect = func() { order <- fmt.Sprint("disconnect, heard: ", h.Connected()) }
	})
	conn := session(t, url)
	require.Equal(t, "connect, heard: false", <-order)

	var ended bool
	require.NoError(t, conn.QueryRow(t.Context(),
		"select pg_terminate_backend(pid, 10000) from pg_locks where locktype = 'advisory' and objid = $1 and granted", lock).Scan(&ended))
	require.True(t, ended)
	require.Equal(t, events.Batch{Look: true, Gap: "connection lost: SQLSTATE 57P01"}, h.next(t))
	require.Equal(t, "disconnect, heard: false", <-order)
	require.Equal(t, "connect, heard: false", <-order)
	require.Equal(t, events.Stats{Reconnects: 1}, h.Stats())

	notify(t, conn, "[]")
	require.Equal(t, events.Batch{Look: true}, h.next(t))

	// A clean stop says so too, and frees the lock with the session.
	h.stop()
	require.Equal(t, "disconnect, heard: false", <-order)
	require.Empty(t, order)
	require.Eventually(t, func() bool {
		var free bool
		return conn.QueryRow(t.Context(), "select pg_try_advisory_lock($1)", lock).Scan(&free) == nil && free
	}, patience, 5*time.Millisecond)
}

func TestAnErrorIsLoggedOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	config := connConfig(t, storetest.Empty(t))
	dialSocket := config.DialFunc
	var tries, fault atomic.Int64
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		tries.Add(1)
		if errno := fault.Load(); errno != 0 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("port %d: %w", tries.Load(), syscall.Errno(errno))}
		}
		return dialSocket(ctx, network, address)
	}
	fault.Store(int64(syscall.ECONNREFUSED))
	h := start(t, config, nil)
	several := func() {
		t.Helper()
		before := tries.Load()
		require.Eventually(t, func() bool { return tries.Load() >= before+4 }, patience, 5*time.Millisecond)
	}
	several()
	require.Equal(t, 1, h.log.count("not listening"))
	require.False(t, h.Connected())
	fault.Store(int64(syscall.EHOSTUNREACH))
	several()
	require.Equal(t, 2, h.log.count("not listening"))
	require.Zero(t, h.log.count("listening for notifications\""))
	fault.Store(0)
	require.Equal(t, events.Batch{Look: true}, h.next(t), "the first connection is no reconnection")
	require.Equal(t, 1, h.log.count("listening for notifications\""))
	require.Equal(t, 2, h.log.count("not listening"))
}

func TestNoPasswordInTheLog(t *testing.T) {
	t.Parallel()
	config := connConfig(t, storetest.Empty(t))
	config.Password, config.Database = "hunter2", "no such database"
	h := start(t, config, nil)
	require.Eventually(t, func() bool { return h.log.count("3D000") > 0 }, patience, 5*time.Millisecond)
	require.Zero(t, h.log.count("hunter2"))
	require.Zero(t, h.log.count("user="))
}

func TestAFailedOnConnectIsRepeatedWithoutOnDisconnect(t *testing.T) {
	t.Parallel()
	tries := 0
	var disconnects atomic.Int64
	h := listen(t, connConfig(t, storetest.Empty(t)), func(c *events.ListenConfig) {
		c.OnConnect = func(ctx context.Context, conn *pgx.Conn) error {
			tries++
			switch tries {
			case 1:
				return errors.New("not yet")
			case 2: // leaves a transaction open: not usable
				_, err := conn.Exec(ctx, "begin")
				return err
			}
			return nil
		}
		c.OnDisconnect = func() { disconnects.Add(1) }
	})
	require.EqualValues(t, 1, disconnects.Load(), "once for each OnConnect that returned nil")
	require.Equal(t, 1, h.log.count("not yet"))
	require.Equal(t, 1, h.log.count("in a transaction"))
	h.stop()
	require.Equal(t, 3, tries)
	require.EqualValues(t, 2, disconnects.Load())
}

func TestRunRefusesToRunTwiceAndMayRunAgain(t *testing.T) {
	t.Parallel()
	h := listen(t, connConfig(t, storetest.Empty(t)), nil)
	require.ErrorContains(t, h.Run(t.Context()), "already running")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	batches := h.hub.SubscribeBatches(1)
	defer batches.Close()
	h.stop()
	require.False(t, h.Connected())
	require.NoError(t, h.Run(ctx))
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	good := events.ListenConfig{
		ConnConfig: &pgx.ConnConfig{Config: pgconn.Config{}}, Channel: channel, Hub: events.NewHub(),
	}
	_, err := events.NewListener(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*events.ListenConfig){
		"ConnConfig": func(c *events.ListenConfig) { c.ConnConfig = nil },
		"Channel":    func(c *events.ListenConfig) { c.Channel = "" },
		"63":         func(c *events.ListenConfig) { c.Channel = string(make([]byte, 64)) },
		"Hub":        func(c *events.ListenConfig) { c.Hub = nil },
		"negative":   func(c *events.ListenConfig) { c.PingTimeout = -1 },
	} {
		bad := good
		change(&bad)
		_, err := events.NewListener(bad)
		require.ErrorContains(t, err, name)
	}
}

func TestListenerBehindAPoolerIsDeafUntilItHears(t *testing.T) {
	t.Parallel()
	p, config := through(t, connConfig(t, storetest.Empty(t)), true)
	h := start(t, config, func(c *events.ListenConfig) { c.Probe, c.ProbeInterval = true, 100*time.Millisecond })
	require.Eventually(t, h.Deaf, patience, 5*time.Millisecond)
	require.False(t, h.Connected())
	require.Positive(t, p.notifications.Load(), "the fault took hold")
	require.Equal(t, 1, h.log.count("not listening"))
	require.ErrorIs(t, h.Do(t.Context(), func(context.Context, *pgx.Conn) error { return nil }), events.ErrNotConnected)

	p.withholds.Store(false)
	require.True(t, h.next(t).Look)
	require.True(t, h.Connected())
	require.False(t, h.Deaf())
}

func TestConnectionThatAnswersButHearsNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	p, config := through(t, connConfig(t, url), false)
	h := listen(t, config, func(c *events.ListenConfig) {
		c.PingInterval, c.ProbeInterval, c.Probe = 20*time.Millisecond, 100*time.Millisecond, true
	})
	conn := session(t, url)
	notify(t, conn, "[]")
	require.True(t, h.next(t).Look)
	p.withholds.Store(true)
	require.Eventually(t, func() bool { return !h.Connected() && h.Deaf() }, patience, 5*time.Millisecond)
	p.withholds.Store(false)
	require.Equal(t, "connection lost: notifications no longer arrived", h.nextGap(t).Gap)
	require.True(t, h.Connected())
	require.EqualValues(t, 1, h.Stats().Reconnects)
}

// Where nothing is wrong a quiet connection stays.
func TestQuietConnectionHearsItself(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	h := listen(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.PingInterval, c.ProbeInterval, c.AppName = 5*time.Millisecond, 5*time.Millisecond, "quiet listener"
	})
	conn := session(t, url)
	require.Eventually(t, func() bool {
		var echo bool
		err := conn.QueryRow(t.Context(), "SELECT query LIKE 'notify \"rowrun_echo_%' FROM pg_stat_activity WHERE application_name = 'quiet listener'").Scan(&echo)
		return err == nil && echo
	}, patience, 5*time.Millisecond)
	notify(t, conn, "[]")
	require.Equal(t, events.Batch{Look: true}, h.next(t))
	require.True(t, h.Connected())
	require.Zero(t, h.Stats())
}

// Each echo wakes the server process of every listener: what one has asked, the others need not.
func TestAnEchoIsHeardByAllListeners(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	listen(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.PingInterval, c.ProbeInterval, c.AppName = 100*time.Millisecond, 100*time.Millisecond, "asks"
	})
	listen(t, connConfig(t, url), func(c *events.ListenConfig) {
		c.PingInterval, c.ProbeInterval, c.AppName, c.Random = 100*time.Millisecond, 3*time.Second, "hears", func() float64 { return 0.9 }
	})
	conn := session(t, url)
	var asks uint32
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'asks'").Scan(&asks))
	_, err := conn.Exec(t.Context(), "LISTEN rowrun_echo")
	require.NoError(t, err)
	for begun, heard := time.Now(), 0; time.Since(begun) < 4*time.Second || heard < 10; heard++ {
		n, err := conn.WaitForNotification(t.Context())
		require.NoError(t, err)
		require.Equal(t, asks, n.PID)
	}
}
