package replica_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// mine is the task type of these tests.
const mine = "MINE"

// program is one call of Run.
type program struct {
	t    *testing.T
	stop context.CancelFunc
	done chan struct{}
	err  error // of Run, once done is closed
}

// start runs a replica whose sweeps find nothing in time: what starts, a notification told of.
func start(t *testing.T, url string, run replica.ExecutorFunc, change func(*replica.Config)) *program {
	t.Helper()
	c := replica.Config{
		Executors: map[string]replica.Executor{mine: run}, Name: "test", SweepInterval: 10 * time.Minute,
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	}
	if change != nil {
		change(&c)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &program{t: t, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = replica.Run(ctx, url, c)
	}()
	t.Cleanup(func() {
		stop()
		<-p.done
	})
	return p
}

// drain stops a replica and waits for its end.
func (p *program) drain() error {
	p.t.Helper()
	p.stop()
	within(p.t, p.done)
	return p.err
}

// within waits for what must come.
func within[T any](t *testing.T, c <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-c:
	case <-time.After(time.Minute):
		require.Fail(t, "it did not come in time")
	}
	return value
}

// user is somebody with psql.
type user struct {
	t    *testing.T
	mu   *sync.Mutex
	conn *pgx.Conn
}

func connect(t *testing.T, url string) user {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return user{t, &sync.Mutex{}, conn}
}

func (u user) exec(sql string, args ...any) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	_, err := u.conn.Exec(u.t.Context(), sql, args...)
	require.NoError(u.t, err, sql)
}

// ask is the one value of a question, as text.
func (u user) ask(sql string, args ...any) (answer string) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	var value any
	require.NoError(u.t, u.conn.QueryRow(u.t.Context(), sql, args...).Scan(&value), sql)
	return fmt.Sprint(value)
}

// becomes waits until a question has this answer.
func (u user) becomes(want, sql string, args ...any) {
	u.t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	got := u.ask(sql, args...)
	for ; got != want; got = u.ask(sql, args...) {
		select {
		case <-tick.C:
		case <-deadline:
			require.Equal(u.t, want, got, sql)
		}
	}
}

// run inserts runs of a task of the tests' type; its columns are SQL.
func (u user) run(columns, values string, runs int) {
	u.t.Helper()
	u.exec(`WITH k AS (INSERT INTO rowrun.task (type, `+columns+`) VALUES ('`+mine+`', `+values+`) RETURNING id)
		INSERT INTO rowrun.task_run (task_id) SELECT id FROM k, generate_series(1, $1)`, runs)
}

// ends are how runs ended: how many, and how.
const ends = `SELECT coalesce(string_agg(n || ' ' || how, ', ' ORDER BY how), '') FROM (
	SELECT count(*) AS n, concat_ws(' ', status, result ->> 'code') AS how FROM rowrun.task_run GROUP BY 2) AS all_ends`

// through is another way to a database, which lasts until cut is called.
func through(t *testing.T, url string) (direct string, cut func()) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var served sync.WaitGroup
	served.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(ctx, "unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port))
			if err != nil {
				_ = client.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
			for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
				served.Go(func() {
					_, _ = io.Copy(to, from) // ends with either
					_ = to.Close()
				})
			}
		}
	})
	cut = func() {
		end()
		_ = listener.Close()
		served.Wait()
	}
	t.Cleanup(cut)
	address := listener.Addr().(*net.TCPAddr)
	return fmt.Sprintf("host=127.0.0.1 port=%d dbname=%s user=%s sslmode=disable", address.Port, config.Database, config.User), cut
}
