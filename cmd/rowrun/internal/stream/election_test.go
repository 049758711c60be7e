package stream_test

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

// candidate is a replica as far as the stream is concerned.
type candidate struct {
	output
	*stream.Election
	id           string
	stop, hangUp func()
	unheard      atomic.Bool // what is asked of its connection isn't done in time
}

func stand(t *testing.T, url, id string) *candidate {
	t.Helper()
	return standOn(t, url, id, open(t, url), nil)
}

// standOn is stand with a database of one's own, and, where it isn't nil, with another output in front of that of the candidate.
func standOn(t *testing.T, url, id string, database stream.Store, out func(to io.Writer) io.Writer) *candidate {
	t.Helper()
	c := &candidate{id: id}
	var to io.Writer = c
	if out != nil {
		to = out(c)
	}
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: to})
	require.NoError(t, err)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	hub := events.NewHub()
	var listener *events.Listener
	c.Election, err = stream.NewElection(stream.ElectionConfig{
		Store: database, Hub: hub, Printer: printer,
		Connected: func() bool { return listener.Connected() },
		Do: func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
			if c.unheard.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return listener.Do(ctx, fn)
		},
		ReplicaID: func() string { return id },
		Retry:     50 * time.Millisecond,
	})
	require.NoError(t, err)
	listener, err = events.NewListener(events.ListenConfig{
		ConnConfig: config, Channel: "rowrun_task_run", Hub: hub, AppName: "listen " + id, OnDisconnect: c.Release,
	})
	require.NoError(t, err)
	c.hangUp = background(t, listener.Run)
	c.stop = background(t, c.Run)
	return c
}

// writer is the one that writes, once there is one alone: who has lost the lock with its session hears of that a moment after another one has got it.
func writer(t *testing.T, all []*candidate) *candidate {
	t.Helper()
	var found *candidate
	eventually(t, "one writes", func() bool {
		holding := 0
		for _, c := range all {
			if c.Holding() {
				found = c
				holding++
			}
		}
		return holding == 1
	})
	return found
}

func recorded(t *testing.T, p *pgxpool.Pool) string {
	t.Helper()
	var id string
	require.NoError(t, p.QueryRow(t.Context(), "SELECT stream_replica_id FROM rowrun.deployment").Scan(&id))
	return id
}

func TestOneReplicaWritesAndAnotherTakesOver(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	all := []*candidate{stand(t, url, "a"), stand(t, url, "b"), stand(t, url, "c")}
	first := writer(t, all)
	require.Equal(t, first.id, recorded(t, p))
	first.awaitBegin(t, p)
	require.Empty(t, first.gaps(t), "the first start of a deployment misses nothing")
	for _, c := range all {
		if c != first {
			require.Empty(t, c.String())
		}
	}

	// A clean stop: the lock is given back, the connection goes on.
	first.stop()
	require.False(t, first.Holding())
	rest := []*candidate{}
	for _, c := range all {
		if c != first {
			rest = append(rest, c)
		}
	}
	second := writer(t, rest)
	second.awaitBegin(t, p)
	require.Equal(t, second.id, recorded(t, p))
	require.Empty(t, second.gaps(t), "what is handed over is no gap")

	// Its backend is killed: it or the third one goes on, behind a gap.
	run := queryID(t, p, "SELECT coalesce(max(id), 0) FROM rowrun.task_run")
	exec(t, p, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", "listen "+second.id)
	eventually(t, "noticed", func() bool { return !second.Holding() || len(second.gaps(t)) == 2 })
	last := writer(t, rest)
	last.awaitBegin(t, p)
	require.NotEmpty(t, last.gaps(t))
	require.Equal(t, last.id, recorded(t, p))
	printedByBoth := 0
	for _, l := range rest[0].lines(t) {
		if l.RunID > run && len(rest[1].of(t, l.RunID)) > 0 {
			printedByBoth++
		}
	}
	require.Zero(t, printedByBoth)
}

// While users and replicas are at work one writer after another stops: together they tell everything, once.
func TestWriterThatStopsHandsOverExactly(t *testing.T) {
	t.Parallel()
	seed := storetest.Seed(t)
	url := storetest.New(t)
	p := pool(t, url+"&pool_max_conns=12")
	exec(t, p, audit)
	all := []*candidate{stand(t, url, "0")}
	writer(t, all).awaitBegin(t, p)
	l := &load{t: t, pool: p, store: open(t, url)}
	for i := range 3 {
		l.tasks = append(l.tasks, task(t, p, fmt.Sprintf("task %d", i), "NOOP"))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(seed, 4, storetest.Count(60, 600))
	}()
	for n := 1; n < 6; n++ {
		next := stand(t, url, fmt.Sprint(n))
		all[n-1].stop()
		all = append(all, next)
		eventually(t, "the next one writes", next.Holding)
		<-time.After(400 * time.Millisecond)
	}
	<-done
	want := happened(t, p)
	lines := func() (lines []printed) {
		for _, c := range all {
			lines = append(lines, c.lines(t)...)
		}
		return lines
	}
	requireTold(t, want, lines)
	all[len(all)-1].stop()
	require.Equal(t, want, told(lines()))
	for _, c := range all {
		require.Empty(t, c.gaps(t))
	}
}

// The lock is the session's: whoever holds it is the only one, at every moment.
func TestNeverTwoHoldTheStream(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	all := []*candidate{stand(t, url, "a"), stand(t, url, "b")}
	writer(t, all).awaitBegin(t, p) // who loses the lock before that has told nothing, and leaves no gap
	for range storetest.Count(5, 50) {
		w := writer(t, all)
		var holders int
		require.NoError(t, p.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
			AND classid = 1920298607 AND objid = 2 AND objsubid = 2 AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&holders))
		require.LessOrEqual(t, holders, 1)
		exec(t, p, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", "listen "+w.id)
		eventually(t, "written again", func() bool {
			return len(all[0].gaps(t))+len(all[1].gaps(t)) > 0 && (all[0].Holding() || all[1].Holding())
		})
	}
	// Hanging up stops the writer before the connection is closed.
	w := writer(t, all)
	w.hangUp()
	require.False(t, w.Holding())
}

// The reader is kept over a lost connection: inserts in between are printed.
func TestWriterGoesOnAfterItsConnectionWasLost(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	c := stand(t, url, "alone")
	writer(t, []*candidate{c})
	c.awaitBegin(t, p)
	id := task(t, p, "between", "NOBODY")
	exec(t, p, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'listen alone'`)
	run := queryID(t, p, insertRun, id)
	eventually(t, "the gap and the insert", func() bool { return len(c.of(t, run)) == 2 && len(c.gaps(t)) == 1 })
	require.Contains(t, c.gaps(t)[0], "connection lost")
}
