package store_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// However many ask, and whatever they give back, no more starts are granted in any stretch of time than the rate and the bucket allow,
// by the database's clock; and no fewer than the rate, as long as somebody asks.
func TestStartsOfARecoveryNeverExceedTheirRate(t *testing.T) {
	t.Parallel()
	const rate, burst = 500.0, 20.0
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	id, err := s.BeginRecovery(t.Context(), store.Outage{Silent: time.Hour, Backlog: 10})
	require.NoError(t, err)
	require.NotZero(t, id)
	again, err := s.BeginRecovery(t.Context(), store.Outage{Silent: time.Hour, Backlog: 10})
	require.NoError(t, err)
	require.Zero(t, again, "one at a time")
	granted, wait, err := s.TakeRecoveryStarts(t.Context(), id, 1000, 0.001, 1)
	require.NoError(t, err)
	require.Zero(t, granted, "the bucket is empty at first")
	require.InDelta(t, 1000, wait.Seconds(), 60)

	exec(t, conn, `UPDATE rowrun.recovery SET paced_until = clock_timestamp() - interval '1 day'`)
	granted, _, err = s.TakeRecoveryStarts(t.Context(), id, 30, 0.001, burst)
	require.NoError(t, err)
	require.Equal(t, int(burst), granted, "a full bucket")
	require.NoError(t, s.GiveRecoveryStarts(t.Context(), id, 7, 0.001))
	granted, _, err = s.TakeRecoveryStarts(t.Context(), id, 30, 0.001, burst)
	require.NoError(t, err)
	require.Equal(t, 7, granted, "what was given back")

	exec(t, conn, `UPDATE rowrun.recovery SET paced_until = clock_timestamp() - interval '1 day'`)
	began, starts := time.Now(), storetest.Count(300, 2500)
	var mu sync.Mutex
	used := 0
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return used >= starts || time.Since(began) > time.Minute
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for !enough() {
				want := 1 + rand.IntN(30)
				granted, wait, err := s.TakeRecoveryStarts(t.Context(), id, want, rate, burst)
				if err != nil || granted < 0 || granted > want || granted < want && wait <= 0 && granted == 0 {
					t.Errorf("granted %d of %d, wait %s: %v", granted, want, wait, err)
					return
				}
				unused := 0
				if granted > 1 && rand.IntN(3) == 0 {
					unused = rand.IntN(granted)
					if err := s.GiveRecoveryStarts(t.Context(), id, unused, rate); err != nil {
						t.Error(err)
						return
					}
				}
				mu.Lock()
				used += granted - unused
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	require.LessOrEqual(t, float64(used), rate*took.Seconds()+burst+1)
	require.GreaterOrEqual(t, used, starts)

	exec(t, conn, `UPDATE rowrun.recovery SET ended_at = clock_timestamp()`)
	granted, _, err = s.TakeRecoveryStarts(t.Context(), id, 1000, rate, burst)
	require.NoError(t, err)
	require.Equal(t, 1000, granted, "there is no cap when it has ended")
}

// What is counted is what was due when the recovery began and waits for a replica alone: not what is paused, came later, or is of a
// type that no live replica has.
func TestTheBacklogOfARecovery(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	exec(t, conn, `INSERT INTO rowrun.plan (id, paused) VALUES (1, true);
		INSERT INTO rowrun.task (id, plan_id, type, paused) VALUES (1, NULL, 'NOOP', false), (2, NULL, 'HTTP', false), (3, NULL, 'UNKNOWN', false), (4, NULL, 'NOOP', true), (5, 1, 'NOOP', false);
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, now() - interval '1 h' FROM rowrun.task k, generate_series(1, 5) WHERE plan_id IS NULL;
		INSERT INTO rowrun.task_run (task_id) VALUES (5);
		INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, now() + interval '1 day')`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	look := func() store.Outage {
		o, err := s.LookForOutage(t.Context(), time.Minute, noop())
		require.NoError(t, err)
		return o
	}
	require.Equal(t, store.Outage{Silent: -time.Second}, look(), "nobody ever was alive")
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, types, role, worker) VALUES
		('admin', now(), '{}', 'admin', false), ('program', now(), '{UNKNOWN}', 'worker', true)`)
	require.Equal(t, store.Outage{Silent: -time.Second}, look(), "nor was one that claims")
	exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, types) VALUES ('gone', now() - interval '1 h', '{HTTP}')`)
	o := look()
	require.InDelta(t, 3600, o.Silent.Seconds(), 60)
	require.False(t, o.Live)
	require.EqualValues(t, 10, o.Backlog, "what this replica takes, and what the one that is gone did")
	exec(t, conn, `UPDATE rowrun.deployment SET last_alive_at = now() - interval '1 min'`)
	o = look()
	require.InDelta(t, 60, o.Silent.Seconds(), 30)
	exec(t, conn, `UPDATE rowrun.deployment SET last_alive_at = 'infinity'`)
	require.InDelta(t, 3600, look().Silent.Seconds(), 60)

	id, err := s.BeginRecovery(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, id, look().Recovery)
	addReplica(t, conn, "r") // NOOP and HTTP
	require.True(t, look().Live)
	require.Zero(t, look().Backlog)
	count := func(idle bool) (bool, *store.Recovery) {
		open, counted, err := s.CountRecovery(t.Context(), id, 2, store.Counting{Note: time.Hour, Idle: idle, Lease: time.Minute})
		require.NoError(t, err)
		return open, counted
	}
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1), (1)`)
	open, counted := count(true)
	require.True(t, open)
	require.EqualValues(t, 10, counted.Remaining)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE task_id = 2`)
	open, counted = count(true)
	require.True(t, open)
	require.EqualValues(t, 5, counted.Remaining)
	require.EqualValues(t, 4, counted.Started)
	require.Positive(t, counted.Rate)
	require.NotNil(t, counted.EstimatedEnd)
	found, err := s.FindRecovery(t.Context())
	require.NoError(t, err)
	require.Equal(t, counted, found)
	health, err := s.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, counted, health.Recovery)

	exec(t, conn, `UPDATE rowrun.recovery SET moved_at = now() - interval '2 min', began_at = now() - interval '16 s'`)
	open, _ = count(false)
	require.True(t, open, "this replica is busy")
	open, counted = count(true)
	require.False(t, open, "nothing moves, and there is room")
	require.EqualValues(t, 5, counted.Remaining)
	found, err = s.FindRecovery(t.Context())
	require.NoError(t, err)
	require.Nil(t, found)
	open, counted = count(true)
	require.False(t, open)
	require.Nil(t, counted)
	require.Equal(t, "recovery.began recovery.ended", query[string](t, conn, `SELECT string_agg(event, ' ' ORDER BY id) FROM rowrun.stream_note`))
	require.True(t, query[bool](t, conn, `SELECT (n.detail ->> 'rate')::numeric = round(5 * 1000 / (n.detail ->> 'took_ms')::numeric, 1)
		FROM rowrun.stream_note n WHERE n.event = 'recovery.ended'`), "the rate of all of it")
}

// Behind limits a backlog is what was due, but for what limits let none go of; also once a replica that claims nothing has looked.
func TestTheBacklogOfARecoveryBehindLimits(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]int64{
		`(name, key_path, max_running) VALUES ('l', '{tenant}', 2)`:                     15,
		`(name, max_running) VALUES ('l', 0)`:                                           0,
		`(name, key_path, share) VALUES ('l', '{tenant}', 'FAIR')`:                      15,
		`(name, rate, per, burst) VALUES ('l', 1, '1 h', 4)`:                            15,
		`(name, key_path, not_before) VALUES ('l', '{tenant}', now() + interval '1 h')`: 0,
		`(name, type, max_running) VALUES ('l', 'HTTP', 1)`:                             15,
		`(name, key_path, not_before) VALUES ('l', '{tenant}', now() - interval '1 h')`: 15,
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit `+limit)
			exec(t, conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'), (2, 'UNKNOWN');
				INSERT INTO rowrun.task_run (task_id, run_at, input) SELECT k.id, now() - interval '1 h', jsonb_build_object('tenant', n % 3) FROM rowrun.task k, generate_series(1, 15) n;
				INSERT INTO rowrun.task_run (task_id, run_at, input) VALUES (1, now() + interval '1 day', '{"tenant": 1}')`)
			backlog := func() int64 {
				o, err := s.LookForOutage(t.Context(), time.Minute, noop())
				require.NoError(t, err)
				return o.Backlog
			}
			die := `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '1 h', lease = '1 s'`
			addReplica(t, conn, "r")
			exec(t, conn, die)
			require.Equal(t, want, backlog(), "as inserted")
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			require.Equal(t, want, backlog(), "looked at where none is alive")
			exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = now(), lease = '1 h'`)
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			exec(t, conn, `SELECT rowrun.promote_runs(true)`)
			exec(t, conn, die)
			require.Equal(t, want, backlog(), "looked at")
		})
	}
}

// Counting a backlog reads as much beside 50,000 runs that wait for limits as beside a few, whether they are overdue or not.
func TestTheBacklogBehindLimitsIsReadAsFarAsItIsCounted(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('l', '{tenant}', 1);
		INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP')`)
	insert := func(n int) {
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at, input) SELECT 1, now() - n % 2 * interval '2 h', jsonb_build_object('tenant', n % 20) FROM generate_series(1, $1::int) n`, n)
		exec(t, conn, `VACUUM ANALYZE rowrun.task_run`)
	}
	pages := func(by string) (pages float64) {
		for range 7 { // a connection has plans to make first
			plan := query[[]map[string]any](t, conn, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT rowrun.overdue_backlog(now() - interval '`+by+`', '{default}', '{NOOP}', 1000)`)
			of, ok := plan[0]["Plan"].(map[string]any)
			require.True(t, ok)
			hit, _ := of["Shared Hit Blocks"].(float64)
			read, _ := of["Shared Read Blocks"].(float64)
			pages = hit + read
		}
		return pages
	}
	insert(2000)
	require.Positive(t, query[int](t, conn, `SELECT rowrun.overdue_backlog(now() - interval '1 h', '{default}', '{NOOP}', 1000)`))
	some, none := pages("1 h"), pages("1 day")
	insert(storetest.Count(50_000, 1_000_000))
	t.Logf("%v and %v pages beside 2,000, %v and %v beside many", some, none, pages("1 h"), pages("1 day"))
	require.LessOrEqual(t, pages("1 h"), 2*some+20)
	require.LessOrEqual(t, pages("1 day"), 2*none+20)
}

// A claim takes no more of a type than there is room for, in the order of priority over all types, and gives each its timeout.
func TestClaimsTakeWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (id, type, timeout) VALUES (1, 'LONG', NULL), (2, 'NOOP', NULL), (3, 'LONG', '5 min');
		INSERT INTO rowrun.task (id, type, queue) VALUES (4, 'LONG', 'second');
		INSERT INTO rowrun.task_run (id, task_id, priority) OVERRIDING SYSTEM VALUE
		SELECT n, k, p FROM (VALUES (1, 2, 0), (2, 1, 9), (3, 4, 10), (4, 1, 8), (5, 2, 8), (6, 3, 11), (7, 1, 7), (8, 2, 1), (9, 4, 12)) v(n, k, p)`)
	w := store.Capabilities{Queues: []string{"default", "second"}, Types: []string{"LONG", "NOOP"}, DefaultTimeout: time.Minute}
	claim := func(want int, rooms map[string]store.Room) (ids []int64, claims []store.Claim) {
		w.Rooms = rooms
		round, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: w, Want: want})
		require.NoError(t, err)
		require.False(t, round.Contended)
		return claimedIDs(round.Claims), round.Claims
	}
	ids, claims := claim(4, map[string]store.Room{"LONG": {Most: 3, Timeout: time.Hour}})
	require.Equal(t, []int64{9, 6, 3, 5}, ids)
	for i, timeout := range []time.Duration{time.Hour, 5 * time.Minute, time.Hour, time.Minute} {
		require.InDelta(t, timeout.Seconds(), claims[i].Timeout.Seconds(), 1)
	}
	ids, _ = claim(10, map[string]store.Room{"LONG": {Most: 0}})
	require.Equal(t, []int64{8, 1}, ids)
	ids, claims = claim(10, map[string]store.Room{"LONG": {Most: 1}, "NOOP": {Most: 5}})
	require.Equal(t, []int64{2}, ids)
	require.Zero(t, claims[0].Timeout)
	ids, _ = claim(10, map[string]store.Room{"LONG": {Most: -1}, "NOOP": {}})
	require.Empty(t, ids)
	ids, _ = claim(10, nil)
	require.Equal(t, []int64{4, 7}, ids)
}
