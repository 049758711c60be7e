package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func TestErrorsAreToldWithoutPlaces(t *testing.T) {
	t.Parallel()
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	_, refused := new(net.Dialer).DialContext(t.Context(), "tcp", closed.Addr().String())
	_, file := os.Stat(filepath.Join(t.TempDir(), "none"))
	_, socket := new(net.Dialer).DialContext(t.Context(), "unix", filepath.Join(t.TempDir(), "none"))
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "db.internal", Server: "10.0.0.2:53", IsNotFound: true}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, "connect: connection refused"},
		{fmt.Errorf("read the answer: %w; it is lost", refused), "read the answer: connect: connection refused; it is lost"},
		{fmt.Errorf("its file can't be used: %w", file), "its file can't be used: no such file or directory"},
		{socket, "connect: no such file or directory"},
		{unknown, "the host's name could not be resolved"},
		{unknown.Err, "the host's name could not be resolved"},
		{errors.New("a text"), "a text"},
		{context.DeadlineExceeded, context.DeadlineExceeded.Error()},
	} {
		require.Equal(t, c.want, scheduler.WithoutPlaces(c.err))
	}
}
