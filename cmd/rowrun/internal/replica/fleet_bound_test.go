package replica

import (
	"context"
	"encoding/binary"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// flood is a server that answers each login with the head of a message of 1 GiB, and sends what it asks for of it; its URL.
func flood(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			head := binary.BigEndian.AppendUint32([]byte{'E'}, 1<<30)
			_, _ = conn.Write(head)
			_, _ = conn.Read(make([]byte, 1<<16)) // the login
			stop := context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			_, _ = conn.Read(make([]byte, 1)) // until the client has gone
			stop()
			_ = conn.Close()
		}
	}()
	return "postgres://u@" + listener.Addr().String() + "/d?sslmode=disable"
}

// A target that is asked whether it is back, and a catalogue, are no more trusted than a target that runs statements: what they send at once
// is bounded.
func TestTargetsAndCataloguesThatSendTooMuchAreLeft(t *testing.T) {
	t.Parallel()
	url := flood(t)
	var exceeded *pgproto3.ExceededMaxBodyLenErr
	require.ErrorAs(t, reach(t.Context(), FileDatabase{URL: url}), &exceeded)
	require.Equal(t, 4<<20, exceeded.MaxExpectedBodyLen)
	source := FleetSource{Query: "SELECT", URL: url}
	exceeded = nil
	_, err := source.ask(t.Context())
	require.ErrorAs(t, err, &exceeded)
}
