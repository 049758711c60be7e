package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestInsertThatCommitsLateIsPrintedThen(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "late", "NOBODY")
	// What is open before the reader begins may commit later too.
	before, err := p.Begin(t.Context())
	require.NoError(t, err)
	early := queryID(t, before, insertRun, id)
	w := watch(t, url, func(c *stream.Config) { c.Look = 20 * time.Millisecond })

	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	late := queryID(t, tx, insertRun, id)
	gone, err := p.Begin(t.Context())
	require.NoError(t, err)
	rolledBack := queryID(t, gone, insertRun, id)
	after := queryID(t, p, insertRun, id)
	eventually(t, "the later id", func() bool { return len(w.of(t, after)) == 2 })
	require.NoError(t, gone.Rollback(t.Context()))
	// Long enough for holes without an open transaction to be given up.
	begun := time.Now()
	eventually(t, "the hole is old", func() bool { return time.Since(begun) > 1500*time.Millisecond })
	require.Empty(t, w.of(t, late))
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, before.Commit(t.Context()))
	eventually(t, "the late ones", func() bool { return len(w.of(t, late)) == 2 && len(w.of(t, early)) == 2 })
	require.Empty(t, w.of(t, rolledBack))
	require.Empty(t, w.gaps(t))
}

// Where no later transaction has ended, a snapshot doesn't name the last one that is open: its hole stays open all the same.
func TestInsertOfTheLastTransactionOfAllIsPrintedWhenItCommits(t *testing.T) { //nolint:paralleltest // others on this server would end later ones
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "last", "NOBODY")
	w := watch(t, url, func(c *stream.Config) { c.Look = 20 * time.Millisecond })
	queryID(t, p, insertRun, id) // the sequence logs some ids in advance, so that the next one takes no transaction number
	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	late := queryID(t, tx, "SELECT nextval('rowrun.task_run_id_seq')")
	next := queryID(t, p, insertRun, id)
	queryID(t, tx, "INSERT INTO rowrun.task_run (id, task_id) VALUES ($2, $1) RETURNING id", id, late)
	eventually(t, "the next one", func() bool { return len(w.of(t, next)) == 2 })
	begun := time.Now()
	eventually(t, "the hole is old", func() bool { return time.Since(begun) > 2*time.Second })
	require.Positive(t, queryID(t, tx, "SELECT pg_current_xact_id()::text::bigint + 1 - pg_snapshot_xmax(pg_current_snapshot())::text::bigint"),
		"a later transaction has ended")
	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "the late one", func() bool { return len(w.of(t, late)) == 2 })
	require.Empty(t, w.gaps(t))
}

// An id that was drawn long before its insert is no hole any more.
func TestLostInsertIsPrintedWithItsFirstTransition(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "drawn", "NOBODY")
	w := watch(t, url, func(c *stream.Config) { c.Look = 20 * time.Millisecond })
	drawn := queryID(t, p, "SELECT nextval('rowrun.task_run_id_seq')")
	next := queryID(t, p, insertRun, id)
	eventually(t, "the next one", func() bool { return len(w.of(t, next)) == 2 })
	begun := time.Now()
	eventually(t, "the hole is given up", func() bool { return time.Since(begun) > 2*time.Second })
	for _, late := range []int64{drawn, -5} { // one given by hand, below all others
		exec(t, p, "INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)", late, id)
		exec(t, p, "SELECT rowrun.cancel_run($1)", late)
		eventually(t, "its lines", func() bool { return len(w.of(t, late)) == 3 })
		require.Equal(t, "PENDING AVAILABLE CANCELED", statuses(w.of(t, late)))
	}
}

// Below an id given by hand the sequence goes on.
func TestHighIDGivenByHandHidesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "high", "NOBODY")
	w := watch(t, url, func(c *stream.Config) { c.Look = 20 * time.Millisecond })
	const high = int64(1) << 60
	exec(t, p, "INSERT INTO rowrun.task_run (id, task_id) VALUES ($1, $2)", high, id)
	eventually(t, "the high one", func() bool { return len(w.of(t, high)) == 2 })
	begun := time.Now()
	eventually(t, "narrow holes are given up", func() bool { return time.Since(begun) > 2*time.Second })
	for range 3 {
		run := queryID(t, p, insertRun, id)
		eventually(t, "the next one", func() bool { return len(w.of(t, run)) == 2 })
	}
}

func TestSuccessorComesAfterTheEndThatItFollows(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p, s := pool(t, url), open(t, url)
	w := watch(t, url, nil)
	id := task(t, p, "failing", "NOOP")
	first := queryID(t, p, insertRun, id)
	require.NoError(t, s.Register(t.Context(), store.Replica{ID: "one", Lease: time.Hour, Queues: []string{"default"}, Types: []string{"NOOP"}}))
	for n := 0; n < 3; {
		pass, err := s.Work(t.Context(), store.Trip{Replica: "one", Capabilities: store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP"}}, Promote: store.PromoteSweep, Want: 1})
		require.NoError(t, err)
		for _, c := range pass.Claims {
			n++
			_, _, err := s.EndRuns(t.Context(), []store.Ending{{
				ID: c.ID, Claim: c.Claim, Failed: true, Retry: store.RetryFailure,
				Result: []byte(`{"code": "ERROR", "detail": "` + strings.Repeat("é", 3000) + `"}`),
			}}, 0)
			require.NoError(t, err)
		}
	}
	var chain []printed
	eventually(t, "three ends", func() bool {
		chain = nil
		for _, l := range w.lines(t) {
			if l.RootID != nil && *l.RootID == first {
				chain = append(chain, l)
			}
		}
		return strings.Count(statuses(chain), "FAILED") == 3
	})
	one := "PENDING AVAILABLE RUNNING FAILED"
	require.Equal(t, strings.Join([]string{one, one, one}, " "), statuses(chain))
	require.Equal(t, chain[4].RunID, *chain[3].RetryRunID)
	require.Nil(t, chain[11].RetryRunID, "failed for good")
	require.Equal(t, "ERROR", *chain[11].Code)
	require.Equal(t, strings.Repeat("é", 2048), *chain[11].Detail, "4 KiB of it")
	require.Equal(t, "one", *chain[11].ReplicaID)
	require.Nil(t, chain[9].ReplicaID)
	require.Equal(t, 2, chain[11].Attempt)
}

func TestLostConnectionLeavesAGapAndNoInsertOut(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "gap", "NOBODY")
	w := watch(t, url, nil)
	killListeners(t, p)
	run := queryID(t, p, insertRun, id)
	eventually(t, "the gap and the insert", func() bool { return len(w.gaps(t)) == 1 && len(w.of(t, run)) == 2 })
	require.Contains(t, w.gaps(t)[0], "connection lost")
	w.awaitBegin(t, p)
}

func killListeners(t *testing.T, p *pgxpool.Pool) {
	t.Helper()
	var killed int
	require.NoError(t, p.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'rowrun listen'`).Scan(&killed))
	require.Positive(t, killed)
}

func TestOverflowLeavesAGap(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	w := watch(t, url, func(c *stream.Config) { c.Buffer = 10 })
	id := task(t, p, "many", "NOBODY")
	exec(t, p, `WITH made AS (SELECT 1) INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 200)`, id)
	exec(t, p, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE task_id = $1`, id)
	eventually(t, "a gap", func() bool { return len(w.gaps(t)) > 0 })
	require.Equal(t, "reader too slow", w.gaps(t)[0])
}

// What the past tells is not told again, and nothing between the two is missing.
func TestPastGoesOverIntoThePresentWithoutRepeating(t *testing.T) {
	t.Parallel()
	seed := storetest.Seed(t)
	url := storetest.New(t)
	p := pool(t, url+"&pool_max_conns=8")
	exec(t, p, audit)
	l := &load{t: t, pool: p, store: open(t, url), tasks: []int64{task(t, p, "past", "NOOP")}}
	var watchers []*watcher
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(seed, 4, storetest.Count(40, 400))
	}()
	for range 3 {
		watchers = append(watchers, watch(t, url, func(c *stream.Config) { c.Since = time.Hour }))
	}
	<-done
	want := happened(t, p)
	for _, w := range watchers {
		eventually(t, "all is printed", func() bool { return len(told(w.lines(t))) >= len(want) })
		w.stop()
		require.Equal(t, want, told(w.lines(t)))
		requireOrder(t, w.lines(t))
		require.Empty(t, w.gaps(t))
	}
}

func TestReaderEndsWhereAllIsIdle(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "idle", "NOBODY")
	tomorrow := queryID(t, p, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 day') RETURNING id", id)
	due := queryID(t, p, insertRun, id)
	hub, listener := listening(t, url, nil)
	out := &output{}
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: out})
	require.NoError(t, err)
	reader, err := stream.New(stream.Config{
		Store: open(t, url), Hub: hub, Connected: listener.Connected, Printer: printer, Since: time.Minute, UntilIdle: true,
	})
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	ended := make(chan error, 1)
	go func() { ended <- reader.Run(context.Background()) }()
	eventually(t, "the past", func() bool { return len(out.of(t, due)) == 2 && len(out.of(t, tomorrow)) == 1 })
	select {
	case err := <-ended:
		require.Fail(t, "ended while a run was due", "%v", err)
	case <-time.After(1500 * time.Millisecond):
	}
	exec(t, p, "SELECT rowrun.cancel_run($1)", due)
	require.NoError(t, <-ended)
	require.Equal(t, "PENDING AVAILABLE CANCELED", statuses(out.of(t, due)))
}

// broken is an output that nobody reads.
type broken struct{}

var errBroken = errors.New("nobody reads")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestBrokenOutputEndsTheReader(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	queryID(t, p, insertRun, task(t, p, "one", "NOBODY"))
	hub, listener := listening(t, url, nil)
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: broken{}})
	require.NoError(t, err)
	reader, err := stream.New(stream.Config{
		Store: open(t, url), Hub: hub, Connected: listener.Connected, Printer: printer, Since: time.Minute, Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	err = reader.Run(t.Context())
	require.ErrorIs(t, err, stream.ErrOutput)
	require.ErrorIs(t, err, errBroken)
}

// A server that is away costs a gap, not the reader; inserts are found all the same.
func TestReaderOutlivesItsServer(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	url := storetest.On(t, cluster)
	w := watch(t, url, nil)
	cluster.Kill()
	require.NoError(t, cluster.Restart(t.Context()))
	p := pool(t, url)
	run := queryID(t, p, insertRun, task(t, p, "back", "NOBODY"))
	eventually(t, "the gap and the insert", func() bool { return len(w.gaps(t)) > 0 && len(w.of(t, run)) == 2 })
}

func TestReadingTheStreamScansNoTable(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "many", "NOBODY")
	exec(t, p, "INSERT INTO rowrun.task_run (task_id, run_at) SELECT $1, now() + interval '1 day' FROM generate_series(1, 20000)", id)
	exec(t, p, "VACUUM ANALYZE rowrun.task_run, rowrun.task")
	const scans = "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'rowrun.task_run'::regclass"

	s, err := store.Open(context.Background(), store.Config{URL: url})
	require.NoError(t, err)
	out := &output{}
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: out})
	require.NoError(t, err)
	hub, listener := listening(t, url, nil)
	reader, err := stream.New(stream.Config{Store: s, Hub: hub, Connected: listener.Connected, Printer: printer})
	require.NoError(t, err)
	stop := background(t, reader.Run)
	out.awaitBegin(t, p)
	exec(t, p, "SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()")
	before := queryID(t, p, scans)
	var ids []int64
	for n := range int64(3000) {
		ids = append(ids, n+5000)
	}
	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SET LOCAL enable_seqscan = off") // its scans would count too
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = ANY ($1)", ids)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "all are printed", func() bool { return strings.Count(out.String(), `"to":"CANCELED"`) == len(ids) })
	stop()
	reader.Close()
	s.Close() // a session tells its counts at its end
	eventually(t, "the sessions' end", func() bool {
		return queryID(t, p, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'rowrun'") == 0
	})
	require.Equal(t, before, queryID(t, p, scans))
}
