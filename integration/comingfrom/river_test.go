package comingfrom_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
)

// mail is a job of River's; what is to become of it there stands in Does.
type mail struct {
	N    int    `json:"n"`
	Does string `json:"does,omitempty"`
}

func (mail) Kind() string { return "mail" }

// call is a job that becomes an HTTP task.
type call struct {
	Order int `json:"order"`
}

func (call) Kind() string { return "call" }

// stranger is a job of a kind that is no task.
type stranger struct{}

func (stranger) Kind() string { return "stranger" }

// sender works on mails: some fail, one goes on until it is let go.
type sender struct {
	river.WorkerDefaults[mail]
	blocked chan struct{}
	letGo   <-chan struct{}
	sent    chan int
}

func (s *sender) Work(_ context.Context, job *river.Job[mail]) error {
	switch job.Args.Does {
	case "fail":
		return errors.New("no luck")
	case "block":
		close(s.blocked)
		<-s.letGo
	}
	s.sent <- job.Args.N
	return nil
}

func TestRiver(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, d.url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	d.exec(`CREATE SCHEMA "River_1"`)
	driver, quiet := riverpgxv5.New(pool), slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet, Schema: "River_1"})
	require.NoError(t, err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	d.exec(`SELECT rowrun.define_task('mail', 'MAIL', priority => 9), rowrun.define_task('call', 'HTTP', '{"path": "/call"}')`)

	letGo, release := context.WithCancel(context.WithoutCancel(ctx))
	t.Cleanup(release)
	s := &sender{blocked: make(chan struct{}), letGo: letGo.Done(), sent: make(chan int, 100)}
	workers := river.NewWorkers()
	river.AddWorker(workers, s)
	client, err := river.NewClient(driver, &river.Config{
		Logger: quiet, Schema: "River_1", Workers: workers, Queues: map[string]river.QueueConfig{"fast": {MaxWorkers: 5}},
		RetryPolicy: tomorrow{}, FetchPollInterval: 100 * time.Millisecond, SkipUnknownJobCheck: true,
	})
	require.NoError(t, err)
	insert := func(args river.JobArgs, opts *river.InsertOpts) {
		_, err := client.Insert(ctx, args, opts)
		require.NoError(t, err)
	}
	// On a queue that is worked on: one is done, one is running, one is to be retried, and one is locked by whoever takes it.
	insert(mail{N: 1}, &river.InsertOpts{Queue: "fast"})
	insert(mail{N: 2, Does: "block"}, &river.InsertOpts{Queue: "fast"})
	insert(mail{N: 3, Does: "fail"}, &river.InsertOpts{Queue: "fast"})
	require.NoError(t, client.Start(ctx))
	t.Cleanup(func() {
		release()
		_ = client.Stop(context.WithoutCancel(ctx)) // where the test has failed
	})
	<-s.blocked
	require.Equal(t, 1, <-s.sent)
	d.becomes("1 completed, 1 retryable, 1 running", `SELECT string_agg(n || ' ' || state, ', ' ORDER BY state) FROM (
		SELECT count(*) AS n, state::text FROM "River_1".river_job GROUP BY state) AS s`)
	// On one that isn't: all that waits.
	insert(mail{N: 4}, nil)
	insert(mail{N: 5}, &river.InsertOpts{Priority: 3})
	insert(mail{N: 6}, &river.InsertOpts{ScheduledAt: time.Now().Add(24 * time.Hour)})
	insert(mail{N: 7}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	insert(mail{N: 8}, &river.InsertOpts{Pending: true})
	insert(mail{N: 9}, nil)
	insert(call{Order: 17}, nil)
	insert(stranger{}, nil)

	taken, err := pool.Begin(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Rollback(context.WithoutCancel(ctx)) })
	_, err = taken.Exec(ctx, `SELECT FROM "River_1".river_job WHERE args ->> 'n' = '9' FOR UPDATE`)
	require.NoError(t, err)
	require.Equal(t, []string{"call | moved |  | 1", "mail | moved |  | 5", "stranger | stays | no task of this name: rowrun.define_task | 1"},
		d.moved("river.sql", "schema=River_1"))
	require.ElementsMatch(t, []string{
		`call | AVAILABLE | {"body": {"order": 17}} | 0 | river River_1 10 | due`,
		`mail | PENDING | {"n": 3, "does": "fail"} | 9 | river River_1 3 | tomorrow`,
		`mail | AVAILABLE | {"n": 4} | 9 | river River_1 4 | due`,
		`mail | AVAILABLE | {"n": 5} | -2 | river River_1 5 | due`,
		`mail | PENDING | {"n": 6} | 9 | river River_1 6 | tomorrow`,
		`mail | AVAILABLE | {"n": 7} | 9 | river River_1 7 | due`,
	}, d.runs())
	require.NoError(t, taken.Rollback(ctx))
	require.Equal(t, []string{"mail | moved |  | 1", "stranger | stays | no task of this name: rowrun.define_task | 1"}, d.move("river.sql", "schema=River_1"))

	// River goes on with its own, and never takes what was moved.
	require.Equal(t, []string{"7 cancelled", "1 completed", "1 pending", "1 running", "1 available"}, d.lines(
		`SELECT count(*) || ' ' || state::text FROM "River_1".river_job GROUP BY state ORDER BY array_position('{cancelled,completed,pending,running,available}', state::text)`))
	require.Equal(t, []string{"7"}, d.lines(`SELECT count(*)::text FROM "River_1".river_job j JOIN rowrun.task_run r ON r.id = (j.metadata ->> 'rowrun_run_id')::bigint
		JOIN rowrun.task k ON k.id = r.task_id AND k.name = j.kind WHERE j.state = 'cancelled'`))
	release()
	require.Equal(t, 2, <-s.sent)
	require.NoError(t, client.Stop(ctx))
	require.Empty(t, s.sent)

	// A backup of River's table brings moved jobs back: they are not run again, and are moved out again.
	runs := d.runs()
	d.exec(`UPDATE "River_1".river_job SET state = 'available', finalized_at = NULL WHERE metadata ? 'rowrun_run_id' AND kind = 'mail'`)
	require.Equal(t, "mail | moved before |  | 6", d.move("river.sql", "schema=River_1")[0])
	require.Equal(t, runs, d.runs())
}

// tomorrow is when what failed is tried again.
type tomorrow struct{}

func (tomorrow) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(24 * time.Hour) }
