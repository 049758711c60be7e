package storetest

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// RefusingServer answers every login with the next of these SQLSTATEs, and the
// last one again and again. It returns its URL.
func RefusingServer(t *testing.T, address string, codes ...string) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	RefuseOn(t, listener, codes...)
	return "postgres://someone:hunter2@" + listener.Addr().String() + "/app?sslmode=disable"
}

// RefuseOn is RefusingServer on a listener that is there, until the test ends.
func RefuseOn(t *testing.T, listener net.Listener, codes ...string) {
	t.Helper()
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			code := codes[0]
			if len(codes) > 1 {
				codes = codes[1:]
			}
			refuse(conn, code)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
}

func refuse(conn net.Conn, code string) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "refused with " + code})
	_ = backend.Flush()
}

// Lines hands over what is logged, line by line.
type Lines chan string

func (l Lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
