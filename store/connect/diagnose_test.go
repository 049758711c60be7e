package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

func TestDiagnoseTellsWhatTimeMends(t *testing.T) {
	t.Parallel()
	server := func(code string) error {
		return fmt.Errorf("connect: %w", &pgconn.PgError{Code: code, Message: "says so"})
	}
	refused := errors.New("tls error: server refused TLS connection")
	for _, c := range []struct {
		err  error
		wait bool
		says string
	}{
		{server("28P01"), false, "wrong user or password"},
		{server("28000"), false, "pg_hba.conf"},
		{server("3D000"), false, "no such database"},
		{server("42501"), false, "CONNECT"},
		{server("0A000"), false, "refused: says so (SQLSTATE 0A000)"},
		{server("57P03"), true, "SQLSTATE 57P03"},
		{server("57P01"), true, "57P01"},
		{server("53300"), true, "53300"},
		{server(""), false, "refused"},
		{errStandby, false, "target_session_attrs=read-write"},
		{fmt.Errorf("%w: version number 140009", errOldServer), false, "PostgreSQL 15 or later"},
		{&net.DNSError{Name: "db.example", Err: "no such host"}, true, "host name not found"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true, "connection refused"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENOENT)}, true, "no socket there"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, true, "no route to host"},
		{fmt.Errorf("connect: %w", context.DeadlineExceeded), true, "no answer in time"},
		{fmt.Errorf("connect: %w", errors.Join(refused, refused)), false, "has no TLS"},
		{fmt.Errorf("connect: %w", errors.Join(refused, io.EOF)), true, "closed by the other side"},
		{fmt.Errorf("connect: %w", errors.Join(refused, errors.New("odd"))), true, "no connection"},
		{errors.New("anything with hunter2 in it"), true, "no connection"},
		{nil, true, "no connection"}, // who waits may have met none
	} {
		got := Diagnose(c.err)
		require.Equal(t, c.wait, got.Wait, "%v", c.err)
		require.Contains(t, got.Text, c.says)
		require.NotContains(t, got.Text, "hunter2")
	}
}
