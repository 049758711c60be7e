package chaos_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// fault does its harm, proves that it took hold, and ends it.
type fault struct {
	name string
	do   func(r *rig, t *testing.T, m *member)
}

// faults are all kinds.
func faults() []fault {
	return []fault{
		{"kill", (*rig).kill},
		{"freeze", func(r *rig, t *testing.T, m *member) { r.freeze(t, m, 300+r.rnd.IntN(700)) }},
		{"freeze past the lease", func(r *rig, t *testing.T, m *member) { r.freeze(t, m, 3800+r.rnd.IntN(500)) }},
		{"partition", func(r *rig, t *testing.T, m *member) { r.partition(t, m, true, true) }},
		{"partition, requests", func(r *rig, t *testing.T, m *member) { r.partition(t, m, true, false) }},
		{"requests late", (*rig).delayRequests},
		{"partition, answers", func(r *rig, t *testing.T, m *member) { r.partition(t, m, false, true) }},
		{"latency", (*rig).latency},
		{"resets", (*rig).resets},
		{"swallowed commit", (*rig).swallow},
		{"sessions terminated", (*rig).terminate},
		{"lock holder", (*rig).holdLock},
		{"database stopped", func(r *rig, t *testing.T, _ *member) { r.outage(t, false) }},
		{"database killed", func(r *rig, t *testing.T, _ *member) { r.outage(t, true) }},
		{"database frozen", (*rig).freezeDatabase},
		{"disk full", (*rig).fillDisk},
		{"clock step", (*rig).stepClock},
		{"replica restart", (*rig).restart},
		{"config change", (*rig).reconfigure},
		{"rolling restart", (*rig).roll},
	}
}

func pause(t *testing.T, ms int) {
	t.Helper()
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-t.Context().Done():
	}
}

func (r *rig) kill(t *testing.T, m *member) {
	m.kill(t)
	pause(t, r.rnd.IntN(300))
	r.start(t, m)
}

func (r *rig) freeze(t *testing.T, m *member, ms int) {
	m.freeze(t)
	if other := r.other(m); r.rnd.IntN(3) == 0 {
		r.kill(t, other)
	}
	pause(t, ms)
	m.thaw(t)
}

// partition lasts beyond the fence at 2 s, or, at times, beyond the lease of 3 s.
func (r *rig) partition(t *testing.T, m *member, up, down bool) {
	before := m.net.took.Load()
	m.net.silence(up, down)
	pause(t, anyOf(r.rnd, 800, 2500, 4500))
	r.tookHold(t, m, before)
	m.net.heal()
}

// delayRequests has what a replica says come to the server once the replica has given up, and at times once its lease is over and
// others were told that it is dead. Those are then too busy to be first.
func (r *rig) delayRequests(t *testing.T, m *member) {
	before := m.net.took.Load()
	m.net.keep()
	pause(t, anyOf(r.rnd, 1200, 2500, 4500, 4500))
	r.tookHold(t, m, before)
	var busy []*member
	for _, other := range r.members {
		if other != m {
			other.freeze(t)
			busy = append(busy, other)
		}
	}
	pause(t, 200)
	m.net.heal()
	pause(t, 200)
	for _, other := range busy {
		other.thaw(t)
	}
}

func (r *rig) tookHold(t *testing.T, m *member, before int64) {
	t.Helper()
	until(t, patience, "the fault took hold", func() bool { return m.net.took.Load() > before })
}

func (r *rig) latency(t *testing.T, m *member) {
	before := m.net.took.Load()
	m.net.delay.Store(int64(time.Duration(5+r.rnd.IntN(40)) * time.Millisecond))
	pause(t, 800+r.rnd.IntN(800))
	r.tookHold(t, m, before)
	m.net.heal()
}

func (r *rig) resets(t *testing.T, m *member) {
	for range 1 + r.rnd.IntN(4) {
		until(t, patience, "the fault: a connection was cut", func() bool { return m.net.reset() > 0 })
		pause(t, r.rnd.IntN(300))
	}
}

func (r *rig) swallow(t *testing.T, m *member) {
	for range 1 + r.rnd.IntN(3) {
		before := m.net.took.Load()
		m.net.swallow.Store(true)
		for range 20 {
			if pause(t, 100); m.net.took.Load() > before {
				break
			}
		}
		m.net.swallowAny.Store(m.net.took.Load() == before) // an idle replica sends no COMMIT of its own, but statements that are one
		r.tookHold(t, m, before)
		pause(t, r.rnd.IntN(200))
	}
	m.net.heal()
}

func (r *rig) terminate(t *testing.T, _ *member) {
	until(t, patience, "the fault: sessions were terminated", func() bool {
		return ask[int](t, r.pool, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name LIKE 'rowrun%' AND random() < 0.7`) > 0
	})
}

// holdLock is somebody's transaction that holds what replicas want, for longer than they wait.
func (r *rig) holdLock(t *testing.T, m *member) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	what := anyOf(r.rnd, "LOCK TABLE rowrun.task_run IN SHARE ROW EXCLUSIVE MODE", "SELECT FROM rowrun.plan ORDER BY id FOR UPDATE",
		"SELECT FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') ORDER BY id FOR UPDATE", "SELECT FROM rowrun.replica_heartbeat FOR UPDATE")
	_, err = conn.Exec(ctx, "SET lock_timeout = '3s'")
	require.NoError(t, err)
	var held bool
	for !held {
		require.NoError(t, ctx.Err(), "the fault: the lock is held")
		_, err = conn.Exec(ctx, "BEGIN")
		require.NoError(t, err)
		if _, err = conn.Exec(ctx, what); err == nil {
			require.NoError(t, conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted)").Scan(&held))
			break
		}
		_, err = conn.Exec(ctx, "ROLLBACK")
		require.NoError(t, err)
	}
	pause(t, 300+r.rnd.IntN(1500))
	_, err = conn.Exec(ctx, "ROLLBACK")
	require.NoError(t, err)
}

func (r *rig) outage(t *testing.T, killed bool) {
	postmaster := r.cluster.PID()
	if killed {
		r.cluster.Kill()
	} else {
		require.NoError(t, r.cluster.Halt(t.Context()))
	}
	require.ErrorIs(t, syscall.Kill(postmaster, 0), syscall.ESRCH, "the fault: no postmaster")
	pause(t, anyOf(r.rnd, 0, 500, 3500))
	require.NoError(t, r.cluster.Restart(t.Context()))
	r.pool.Reset()
	r.target.Reset()
}

func (r *rig) freezeDatabase(t *testing.T, _ *member) {
	r.cluster.Suspend()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	_, err := r.pool.Exec(ctx, "SELECT 1")
	cancel()
	pause(t, 200+r.rnd.IntN(2500))
	r.cluster.Resume()
	require.Error(t, err, "the fault: the server is silent")
}

// fillDisk has the server find no room: what it writes fails behind the first MiB of each file, as on a disk that is full, and its log with it. Then
// there is room, and somebody starts it again.
func (r *rig) fillDisk(t *testing.T, _ *member) {
	require.NoError(t, limitFiles(r.cluster.PID(), "1048576"), "the fault")
	until(t, patience, "the fault: nothing can be written", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		// The log's files have 16 MiB: so much has it come to where there is no room, whatever else goes on.
		_, err := r.pool.Exec(ctx, "SELECT pg_logical_emit_message(true, 'chaos', repeat('x', 500000))")
		return err != nil
	})
	pause(t, anyOf(r.rnd, 0, 500, 3500))
	r.cluster.Kill() // it may be on its way to a new start, or gone
	require.NoError(t, r.cluster.Restart(t.Context()))
	r.pool.Reset()
	r.target.Reset()
}

// stepClock sets the database's clock, mostly forward, and by more than a lease.
func (r *rig) stepClock(t *testing.T, _ *member) {
	by := time.Duration(anyOf(r.rnd, 4, 5, 20, 60, -3)) * time.Second
	before := ask[time.Time](t, r.pool, "SELECT clock_timestamp()")
	asked := time.Now()
	r.clock.step(t, by)
	ahead := ask[time.Time](t, r.pool, "SELECT clock_timestamp()").Sub(before) - time.Since(asked)
	require.InDelta(t, by.Seconds(), ahead.Seconds(), 2, "the fault: the clock is another")
	pause(t, 500+r.rnd.IntN(3000))
}

func (r *rig) restart(t *testing.T, m *member) {
	m.stop(t)
	r.start(t, m)
}

func (r *rig) reconfigure(t *testing.T, m *member) {
	before := slices.Clone(m.flags)
	for slices.Equal(before, m.flags) {
		m.flags = r.someFlags()
	}
	r.restart(t, m)
}

// roll replaces every replica, and with it how they claim: at once with the promotion, or in two steps.
func (r *rig) roll(t *testing.T, _ *member) {
	for _, m := range r.members {
		m.twoSteps = !m.twoSteps
		r.restart(t, m)
		until(t, patience, "the new replica lives", func() bool { return len(m.ids()) > 0 })
	}
}
