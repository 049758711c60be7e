package stream_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A run that was due a while after its insert waited since the one, and is late since the other, whatever the line is read from.
func TestAStartTellsHowLateItIs(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"listen", "wal"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			p := pool(t, url)
			var out *output
			if source == "wal" {
				c := standByLog(t, url, "a", true)
				c.awaitSource(t, "wal")
				out = &c.output
			} else {
				out = &watch(t, url, nil).output
			}
			run := queryID(t, p, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '20 ms') RETURNING id`, task(t, p, "due", "NOOP"))
			exec(t, p, `SELECT pg_sleep(0.02)`)
			exec(t, p, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, run)
			exec(t, p, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1`, run)
			eventually(t, "its start is told", func() bool { return statuses(out.of(t, run)) == "PENDING AVAILABLE RUNNING" })
			start := out.of(t, run)[2]
			require.NotNil(t, start.LateMs)
			require.Positive(t, *start.LateMs)
			require.InDelta(t, 20, *start.WaitMs-*start.LateMs, 0.002)
		})
	}
}

// blindable is a database in which a reader of rows finds no new runs while it is blind: it is not answered.
type blindable struct {
	stream.Store
	blind atomic.Bool
}

func (b *blindable) StreamInserts(ctx context.Context, ranges []store.Span, limit int) (store.StreamInserts, error) {
	if b.blind.Load() {
		<-ctx.Done()
		return store.StreamInserts{}, ctx.Err()
	}
	return b.Store.StreamInserts(ctx, ranges, limit)
}

// A transaction was open long before the rows were read, and is committed between what one reader of them has seen last and where
// the log, or the next writer, goes on: all that it did is told, its INSERT too, though the row has gone on since, and though the
// INSERT was behind a savepoint, which gives rows a number that no snapshot names.
func TestALateCommitIsToldWholeByWhoeverReadsOn(t *testing.T) {
	t.Parallel()
	for next, goOn := range map[string]func(t *testing.T, url string, a *tap, commit func()) *output{
		"the log": func(t *testing.T, _ string, a *tap, commit func()) *output {
			commit() // until now it kept the slot from being made
			a.awaitSource(t, "wal")
			return &a.output
		},
		"another replica": func(t *testing.T, url string, a *tap, commit func()) *output {
			a.stop()
			commit()
			return &stand(t, url, "b").output
		},
	} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			url, _ := bounded(t)
			p := pool(t, url)
			id := task(t, p, "t", "NOBODY")
			walk(t, p, id, "DONE")
			late, err := pgx.Connect(t.Context(), url)
			require.NoError(t, err)
			defer func() { require.NoError(t, late.Close(t.Context())) }()
			insert := func() (run int64) {
				require.NoError(t, late.QueryRow(t.Context(), `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, id).Scan(&run))
				return run
			}
			_, err = late.Exec(t.Context(), `BEGIN`)
			require.NoError(t, err)
			goesOn := insert()
			_, err = late.Exec(t.Context(), `SAVEPOINT inner_part`)
			require.NoError(t, err)
			behindSavepoint := insert()
			walk(t, p, id, "DONE")             // later numbers are given
			exec(t, p, `SELECT pg_sleep(0.8)`) // more than the times of rows are trusted by

			database := &blindable{Store: open(t, url)}
			a := standByLogOn(t, url, "a", false, database)
			eventually(t, "it writes", a.Holding)
			for range 2 { // of what was before the reader began, and of what it reads itself
				beside := walk(t, p, id, "DONE")
				eventually(t, "rows are read", func() bool { return statuses(a.of(t, beside)) == whole })
			}
			database.blind.Store(true)
			out := goOn(t, url, a, func() {
				_, err := late.Exec(t.Context(), `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1`, goesOn)
				require.NoError(t, err)
				_, err = late.Exec(t.Context(), `COMMIT`)
				require.NoError(t, err)
			})
			eventually(t, "its start is told", func() bool { lines := out.of(t, goesOn); return len(lines) > 0 && lines[len(lines)-1].To == "RUNNING" })
			require.Equal(t, "PENDING AVAILABLE RUNNING", statuses(out.of(t, goesOn)))
			eventually(t, "what came behind the savepoint is told", func() bool { return statuses(out.of(t, behindSavepoint)) == "PENDING AVAILABLE" })
			require.Empty(t, a.gaps(t))
			require.Empty(t, out.gaps(t))
		})
	}
}
