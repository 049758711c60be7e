package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// tap is a candidate that reads the log.
type tap struct {
	candidate
	hub *events.Hub
}

func standByLog(t *testing.T, url, id string, asked bool) *tap {
	t.Helper()
	return standByLogOn(t, url, id, asked, open(t, url))
}

// standByLogOn is standByLog where the rows are read by way of database.
func standByLogOn(t *testing.T, url, id string, asked bool, database stream.Store, change ...func(*stream.WALConfig)) *tap {
	t.Helper()
	c := &tap{candidate: candidate{id: id}, hub: events.NewHub()}
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: c})
	require.NoError(t, err)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	var listener *events.Listener
	wal := &stream.WALConfig{Store: open(t, url), Printer: printer, ConnConfig: config, Asked: asked, Log: zerolog.Nop()}
	for _, apply := range change {
		apply(wal)
	}
	c.Election, err = stream.NewElection(stream.ElectionConfig{
		Store: database, Hub: c.hub, Printer: printer,
		Connected: func() bool { return listener.Connected() },
		Do: func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
			return listener.Do(ctx, fn)
		},
		ReplicaID: func() string { return id },
		Retry:     50 * time.Millisecond,
		Climb:     200 * time.Millisecond,
		WAL:       wal,
		WakeByWAL: true,
	})
	require.NoError(t, err)
	listener, err = events.NewListener(events.ListenConfig{
		ConnConfig: config, Channel: store.Channel, Hub: c.hub, AppName: "listen " + id, OnDisconnect: c.Release,
	})
	require.NoError(t, err)
	c.hangUp = background(t, listener.Run)
	c.stop = background(t, c.Run)
	return c
}

func (c *tap) awaitSource(t *testing.T, source string) {
	t.Helper()
	eventually(t, "the source is "+source, func() bool { return c.Source() == source })
}

// keys are the transitions in the output, each once: as (lsn, run, to).
func (o *output) keys(t testing.TB) []string {
	t.Helper()
	var keys []string
	seen := map[string]bool{}
	for text := range strings.Lines(o.String()) {
		var l struct {
			LSN   *string
			RunID int64 `json:"run_id"`
			From  *string
			To    string
		}
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		if l.LSN == nil {
			continue
		}
		from := "null"
		if l.From != nil {
			from = *l.From
		}
		key := fmt.Sprintf("%s %d %s %s", *l.LSN, l.RunID, from, l.To)
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func slotName(t *testing.T, p *pgxpool.Pool) string {
	t.Helper()
	var name string
	require.NoError(t, p.QueryRow(t.Context(), "SELECT 'rowrun_stream_' || left(id::text, 8) FROM rowrun.deployment").Scan(&name))
	return name
}

// walk takes a run through all statuses, by hand.
func walk(t *testing.T, p *pgxpool.Pool, taskID int64, end string) int64 {
	t.Helper()
	run := queryID(t, p, insertRun, taskID)
	exec(t, p, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", run)
	exec(t, p, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1", run)
	exec(t, p, "UPDATE rowrun.task_run SET progress = '1' WHERE id = $1", run)
	exec(t, p, "UPDATE rowrun.task_run SET status = $2 WHERE id = $1", run, end)
	return run
}

func TestLogTellsEachTransitionWithItsPlace(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	c := standByLog(t, url, "a", true)
	c.awaitSource(t, "wal")
	require.Empty(t, c.gaps(t), "the first start of a deployment misses nothing")

	id := task(t, p, "by log", "NOBODY")
	run := walk(t, p, id, "FAILED")
	eventually(t, "its end", func() bool { return len(c.of(t, run)) == 4 })
	lines := c.of(t, run)
	require.Equal(t, "PENDING AVAILABLE RUNNING FAILED", statuses(lines))
	require.Nil(t, lines[0].From)
	require.Equal(t, "RUNNING", *lines[3].From)
	require.Equal(t, "ERROR", *lines[3].Code)
	require.Equal(t, "by log", *lines[3].Task)
	require.Nil(t, lines[3].RetryRunID)
	require.Equal(t, "me", *lines[2].ReplicaID)
	require.Nil(t, lines[1].ReplicaID)
	var stored time.Time
	require.NoError(t, p.QueryRow(t.Context(), "SELECT finished_at FROM rowrun.task_run WHERE id = $1", run).Scan(&stored))
	require.True(t, stored.Equal(lines[3].Time))
	require.Len(t, c.keys(t), 4)

	// All of a transaction have its place.
	exec(t, p, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 2500)", id)
	eventually(t, "the inserts", func() bool { return len(c.keys(t)) == 5004 })
	places := map[string]bool{}
	for _, key := range c.keys(t)[4:] {
		lsn, _, _ := strings.Cut(key, " ")
		places[lsn] = true
	}
	require.Len(t, places, 1)

	// The slot moves also while our tables are idle.
	exec(t, p, "CREATE TABLE other (n int)")
	exec(t, p, "INSERT INTO other SELECT generate_series(1, 10000)")
	var end string
	require.NoError(t, p.QueryRow(t.Context(), "SELECT pg_current_wal_lsn()::text").Scan(&end))
	eventually(t, "the slot at the end of the log", func() bool {
		var there bool
		require.NoError(t, p.QueryRow(t.Context(),
			"SELECT confirmed_flush_lsn >= $1::text::pg_lsn FROM pg_replication_slots WHERE slot_name = $2", end, slotName(t, p)).Scan(&there))
		return there
	})
}

func TestReplicaTakesOverTheSlotWithoutAGap(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	first := standByLog(t, url, "a", true)
	first.awaitSource(t, "wal")
	second := standByLog(t, url, "b", true)
	id := task(t, p, "t", "NOBODY")
	before := walk(t, p, id, "DONE")
	first.stop() // prints what was committed until then
	require.Len(t, first.of(t, before), 4)
	between := walk(t, p, id, "DONE")
	second.awaitSource(t, "wal")
	after := walk(t, p, id, "DONE")
	eventually(t, "the second's lines", func() bool { return len(second.of(t, after)) == 4 })
	require.Len(t, second.of(t, between), 4)
	require.Empty(t, second.gaps(t))

	// Its backends are killed, again and again: nothing is lost.
	var runs []int64
	for range storetest.Count(3, 30) {
		exec(t, p, "SELECT pg_terminate_backend(pid) FROM pg_stat_replication WHERE pid = (SELECT active_pid FROM pg_replication_slots WHERE slot_name = $1)", slotName(t, p))
		runs = append(runs, walk(t, p, id, "DONE"))
	}
	for _, run := range runs {
		eventually(t, "the lines", func() bool { return len(second.of(t, run)) >= 4 })
	}
	require.Empty(t, second.gaps(t))
}

func TestMissingSlotIsOneGapWithWhatTheRowsKnow(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	c := standByLog(t, url, "a", true)
	c.awaitSource(t, "wal")
	id := task(t, p, "t", "NOBODY")
	storetest.DropSlots(t, url)
	during := walk(t, p, id, "CANCELED")
	eventually(t, "the gap", func() bool { return len(c.gaps(t)) > 0 })
	c.awaitSource(t, "wal")
	after := walk(t, p, id, "DONE")
	eventually(t, "the lines after it", func() bool { return len(c.of(t, after)) == 4 })
	require.Equal(t, []string{"the replication slot was missing"}, c.gaps(t))
	require.Contains(t, c.String(), `"last_lsn":"`)
	require.Equal(t, "PENDING AVAILABLE RUNNING CANCELED", statuses(c.of(t, during)))
}

// Whoever relied on the log hears of an INSERT all the same, and the log of the server shows no notification of it.
func TestInsertsAreSilentWhileTheLogIsRead(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	c := standByLog(t, url, "a", true)
	c.awaitSource(t, "wal")
	eventually(t, "the silence", c.Waking)
	wake, unsubscribe := c.hub.Subscribe(nil)
	defer unsubscribe()
	<-wake // one is there from the beginning

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), "LISTEN rowrun_task_run")
	require.NoError(t, err)
	id := task(t, p, "t", "NOBODY")
	var inserter uint32
	require.NoError(t, p.QueryRow(t.Context(), "WITH r AS (INSERT INTO rowrun.task_run (task_id) VALUES ($1)) SELECT pg_backend_pid()", id).Scan(&inserter))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	require.NoError(t, err)
	require.NotEqual(t, inserter, n.PID, "the INSERT itself says nothing")
	select {
	case <-wake:
	case <-time.After(patience):
		require.Fail(t, "nobody was woken")
	}

	c.stop()
	require.False(t, c.Waking())
	eventually(t, "the silence is over", func() bool {
		return queryID(t, p, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1920298607 AND objid = 3
			AND mode = 'ExclusiveLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 0
	})
	require.NoError(t, p.QueryRow(t.Context(), "WITH r AS (INSERT INTO rowrun.task_run (task_id) VALUES ($1)) SELECT pg_backend_pid()", id).Scan(&inserter))
	for n.PID != inserter {
		n, err = conn.WaitForNotification(ctx)
		require.NoError(t, err, "the first INSERT after it notifies")
	}
}

// Unasked, a slot that could fill the disk is not made: notifications and rows do.
func TestUnboundedSlotIsNotMadeUnasked(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	c := standByLog(t, url, "a", false)
	c.awaitSource(t, "listen")
	c.awaitBegin(t, p)
	require.Zero(t, queryID(t, p, "SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1", slotName(t, p)))
}

// The log goes and comes back under load: the same writer falls back to rows and climbs again, and tells everything once.
func TestFallbackRepeatsNothingAndTheSameWriterClimbsBack(t *testing.T) {
	t.Parallel()
	seed := storetest.Seed(t)
	cluster := storetest.OwnCluster(t)
	url := storetest.On(t, cluster)
	p := pool(t, url+"&pool_max_conns=12")
	exec(t, p, "ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
	exec(t, p, "SELECT pg_reload_conf()")
	exec(t, p, audit)
	eventually(t, "the bound", func() bool {
		return queryID(t, p, "SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size'") == 1024
	})
	c := standByLog(t, url, "a", false)
	c.awaitSource(t, "wal")
	l := &load{t: t, pool: p, store: open(t, url), tasks: []int64{task(t, p, "t", "NOOP")}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(seed, 4, storetest.Count(150, 1000))
	}()
	for round := range 2 {
		<-time.After(1500 * time.Millisecond)
		definition := `FOR TABLE rowrun.task_run (id, task_id, attempt, retry_of, root_id, status, plan_id, type, queue, database_id, version,
			replica_id, created_at, available_at, started_at, finished_at, result, prev_status, retry_run_id) WITH (publish = 'insert, update')`
		exec(t, p, "DROP PUBLICATION rowrun_stream")
		exec(t, p, "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
		eventually(t, "the fault: rows are read", func() bool { return len(c.gaps(t)) == round+1 })
		<-time.After(500 * time.Millisecond)
		exec(t, p, "CREATE PUBLICATION rowrun_stream "+definition)
		c.awaitSource(t, "wal")
	}
	<-done
	want := happened(t, p)
	requireTold(t, want, func() []printed { return c.lines(t) })
	c.stop()
	require.Equal(t, want, told(c.lines(t)))
	require.Equal(t, []string{"the write-ahead log can't be read any more", "the write-ahead log can't be read any more"}, c.gaps(t))
}

// Whoever asks for a place is told little more than what came since.
func TestPlacesAreWrittenDownEachSecond(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p, s := pool(t, url), open(t, url)
	c := standByLog(t, url, "a", true)
	c.awaitSource(t, "wal")
	id := task(t, p, "t", "NOBODY")
	began := time.Now()
	for time.Since(began) < 6*time.Second {
		queryID(t, p, insertRun, id)
		<-time.After(20 * time.Millisecond)
	}
	c.stop() // another one goes on
	next := standByLog(t, url, "b", true)
	next.awaitSource(t, "wal")
	for began = time.Now(); time.Since(began) < 4*time.Second; <-time.After(20 * time.Millisecond) {
		queryID(t, p, insertRun, id)
	}
	var worst time.Duration
	for _, text := range append(strings.Split(c.String(), "\n"), strings.Split(next.String(), "\n")...) {
		var l struct {
			LSN  string
			Time time.Time
		}
		if text == "" || json.Unmarshal([]byte(text), &l) != nil || l.LSN == "" {
			continue
		}
		at, err := s.StreamPositionAt(t.Context(), l.LSN)
		require.NoError(t, err)
		require.NotNil(t, at)
		worst = max(worst, l.Time.Sub(at.Point.At))
	}
	t.Logf("at most %s before the line", worst)
	require.Less(t, worst, 3*time.Second, "a second, and what a busy machine adds")
	rows := queryID(t, p, "SELECT count(*) FROM rowrun.stream_position")
	require.LessOrEqual(t, rows, int64(16))
}
