package stream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// looked is a database that counts the looks at all rows behind one that found the queue free again.
type looked struct {
	*store.Store
	quiet, freed atomic.Bool
	n            atomic.Int64
}

func (l *looked) StreamInserts(ctx context.Context, ranges []store.Span, limit int) (store.StreamInserts, error) {
	look, err := l.Store.StreamInserts(ctx, ranges, limit)
	if err == nil && look.Quiet {
		l.quiet.Store(true)
	} else if err == nil && l.quiet.Load() {
		l.freed.Store(true)
	}
	return look, err
}

func (l *looked) OpenStreamAt(ctx context.Context, point *store.StreamPoint, unseen []store.Span) (store.StreamStart, *store.StreamHistory, error) {
	if l.freed.Load() {
		defer l.n.Add(1)
	}
	return l.Store.OpenStreamAt(ctx, point, unseen)
}

// mayNotify says for the server whether its queue of notifications takes more.
func mayNotify(t *testing.T, p *pgxpool.Pool, yes string) {
	t.Helper()
	exec(t, p, `CREATE OR REPLACE FUNCTION rowrun.may_notify() RETURNS boolean LANGUAGE sql VOLATILE RETURN `+yes)
}

// While the queue is full nothing is notified. The rows tell it all the same, also what a transaction has changed that commits
// when the queue is free again, and gap lines stand around it.
func TestWhatIsNotNotifiedWhileTheQueueIsFullIsToldByTheRows(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	database := &looked{Store: open(t, url)}
	w := watch(t, url, func(c *stream.Config) {
		c.Store, c.Look = database, 20*time.Millisecond
		stream.SetMendPause(c, 100*time.Millisecond)
	})
	id := task(t, p, "quiet", "NOBODY")
	late := queryID(t, p, insertRun, id)
	eventually(t, "the insert", func() bool { return statuses(w.of(t, late)) == "PENDING AVAILABLE" })
	mayNotify(t, p, "false")
	full := []string{"the server's notification queue is full"}
	eventually(t, "the gap", func() bool { return len(w.gaps(t)) > 0 })
	require.Equal(t, full, w.gaps(t))
	run := walk(t, p, id, "DONE")
	eventually(t, "all of the run", func() bool { return statuses(w.of(t, run)) == "PENDING AVAILABLE RUNNING DONE" })

	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1", late)
	require.NoError(t, err)
	mayNotify(t, p, "true")
	eventually(t, "a look at all rows since", func() bool { return database.n.Load() > 0 })
	require.Equal(t, full, w.gaps(t), "what is open may have found it full")
	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "what committed late", func() bool { return statuses(w.of(t, late)) == "PENDING AVAILABLE RUNNING" })
	both := append(full, "the server's notification queue was full")
	eventually(t, "the end of it", func() bool { return len(w.gaps(t)) == 2 })
	require.Equal(t, both, w.gaps(t))

	next := walk(t, p, id, "DONE")
	eventually(t, "the next run", func() bool { return statuses(w.of(t, next)) == "PENDING AVAILABLE RUNNING DONE" })
	require.Equal(t, both, w.gaps(t))
}

// A transaction that keeps quiet about its inserts says nothing of their end either.
func TestARunThatAQuietTransactionCanceledIsToldAsAWhole(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	w := watch(t, url, func(c *stream.Config) { c.Look = 20 * time.Millisecond })
	id := task(t, p, "quiet", "NOBODY")
	tx, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "SET LOCAL rowrun.notify = 'off'")
	require.NoError(t, err)
	due := queryID(t, tx, insertRun, id)
	later := queryID(t, tx, "INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 day') RETURNING id", id)
	for _, run := range []int64{due, later} {
		_, err = tx.Exec(t.Context(), "SELECT rowrun.cancel_run($1)", run)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	eventually(t, "their ends", func() bool {
		return statuses(w.of(t, due)) == "PENDING AVAILABLE CANCELED" && statuses(w.of(t, later)) == "PENDING CANCELED"
	})
	forge(t, p, forged(due, "AVAILABLE", "CANCELED"))
	w.awaitBegin(t, p)
	require.Len(t, w.of(t, due), 3)
	require.Empty(t, w.gaps(t))
}

var _ stream.Store = (*looked)(nil)
