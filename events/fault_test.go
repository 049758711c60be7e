package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestABlackHoleIsNoticedWithinSevenSeconds(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	p, config := through(t, connConfig(t, url), false)
	noticed := make(chan time.Time, 1)
	h := listen(t, config, func(c *events.ListenConfig) { // intervals are the defaults
		c.OnDisconnect = func() { noticed <- time.Now() }
	})
	conn := session(t, url)
	notify(t, conn, "[]")
	require.Equal(t, events.Batch{Look: true}, h.next(t), "the proxy lets notifications through")

	p.hole.Store(true)
	began := time.Now()
	payloads, err := events.Encode(transitions(1))
	require.NoError(t, err)
	notify(t, conn, payloads[0])
	require.Eventually(t, func() bool { return p.fromServer.Load() > 0 }, patience, time.Millisecond,
		"the fault took hold: the notification was swallowed")
	require.True(t, h.Connected(), "nothing told the client yet")

	var at time.Time
	select {
	case at = <-noticed:
	case <-time.After(patience):
		t.Fatal("the black hole was not noticed")
	}
	require.Positive(t, p.fromClient.Load(), "the ping was swallowed too")
	require.False(t, h.Connected())
	// One second more for the machine: the interval and the timeout are 7 s in all.
	require.Less(t, at.Sub(began), 8*time.Second)
	t.Logf("noticed after %v", at.Sub(began))

	p.hole.Store(false)
	p.cut()
	require.Equal(t, events.Batch{Look: true, Gap: "connection lost: no answer in time"}, h.next(t))
	notify(t, conn, payloads[0])
	require.Equal(t, events.Batch{Reached: reached(1)}, h.next(t))
}

func TestRunStopsWithoutWaitingForABlackHole(t *testing.T) {
	t.Parallel()
	p, config := through(t, connConfig(t, storetest.Empty(t)), false)
	h := listen(t, config, nil)
	p.hole.Store(true)
	began := time.Now()
	h.stop()
	require.Less(t, time.Since(began), 5*time.Second)
	require.Eventually(t, func() bool { return p.fromClient.Load() > 0 }, patience, time.Millisecond,
		"the fault took hold: the goodbye was swallowed")
}

func TestAKilledServerIsWaitedForAndEverybodyLooks(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	url := cluster.SocketURL("postgres")
	h := listen(t, connConfig(t, url), nil)
	wakes, cancel := h.hub.Subscribe(nil)
	defer cancel()
	<-wakes

	cluster.Kill()
	require.Eventually(t, func() bool { return !h.Connected() }, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { return h.log.count("not listening") >= 2 }, patience, 5*time.Millisecond,
		"the end of the connection, then that there is no server")
	require.Empty(t, wakes, "an outage wakes nobody")

	ctx, cancelRestart := context.WithTimeout(t.Context(), patience)
	defer cancelRestart()
	require.NoError(t, cluster.Restart(ctx))
	wait(t, "the wake of the new connection", wakes)
	batch := h.next(t)
	require.True(t, batch.Look)
	require.Contains(t, batch.Gap, "connection lost: ")
	require.EqualValues(t, 1, h.Stats().Reconnects)

	payloads, err := events.Encode(transitions(7))
	require.NoError(t, err)
	notify(t, session(t, url), payloads[0])
	require.Equal(t, events.Batch{Reached: reached(7)}, h.next(t))
	wait(t, "the wake of the notification", wakes)
}
