package migrations_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// far is a way to the server on which each message takes a while.
func far(t *testing.T, to string, takes time.Duration) string {
	t.Helper()
	config, err := pgx.ParseConfig(to)
	require.NoError(t, err)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := config.DialFunc(t.Context(), network, address)
			if err != nil {
				_ = client.Close()
				return
			}
			go func() { _, _ = io.Copy(client, there); _ = client.Close() }()
			go func() {
				defer func() { _ = there.Close() }()
				for text := make([]byte, 1<<20); ; {
					n, err := client.Read(text)
					<-time.After(takes)
					if _, failed := there.Write(text[:n]); err != nil || failed != nil {
						return
					}
				}
			}()
		}
	}()
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", config.User, listener.Addr(), config.Database)
}

// way is what each message to the server takes.
const way = 30 * time.Millisecond

// However many objects there are, who writes waits for a few messages of the migration: over a way on which one for each
// object would take more than 6 s nobody waits for 2 s.
func TestWritersDontWaitForTheWayToTheServer(t *testing.T) {
	t.Parallel()
	to, conn := fresh(t)
	files := func(n int) [2]string {
		text := fires + trigger
		for i := range 200 {
			text += fmt.Sprintf("CREATE OR REPLACE VIEW rowrun.v%d AS SELECT %d AS n;\n", i, i*n)
		}
		return [2]string{"c/all.sql", text}
	}
	apply(t, to, with("1", files(0)))
	run(t, conn, "CREATE TABLE rowrun.task_run (); SET lock_timeout = '2s'")
	ended := make(chan error, 1)
	go func() {
		_, err := migrations.Up(t.Context(), migrations.Config{URL: far(t, to, way), FS: with("1", files(1))})
		ended <- err
	}()
	var longest time.Duration
	for over := false; !over; {
		select {
		case err := <-ended:
			require.NoError(t, err)
			over = true
		default:
			began := time.Now()
			run(t, conn, "INSERT INTO rowrun.task_run DEFAULT VALUES")
			longest = max(longest, time.Since(began))
		}
	}
	require.Greater(t, longest, way, "the migration kept the writer out for its last messages")
	require.Equal(t, 199, ask[int](t, conn, "SELECT n FROM rowrun.v199"))
}
