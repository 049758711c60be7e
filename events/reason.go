package events

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// reason puts an error into one of few short texts without names, addresses or
// ports. They are shown as the reason of a gap, and tell whether an error is a
// new one or the last one again.
func reason(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "SQLSTATE " + e.Code
	}
	if e, ok := errors.AsType[net.Error](err); (ok && e.Timeout()) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) {
		return "no answer in time"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	switch {
	case errors.Is(err, ErrNoNotify):
		return "notifications no longer arrived"
	case errors.Is(err, ErrQueueFull):
		return "the server's notification queue was full"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "closed by the server"
	case errors.Is(err, context.Canceled):
		return "a function was cut off"
	case errors.Is(err, errLeftInTx), errors.Is(err, errWasClosed):
		return "misused by a function"
	}
	return "failed"
}
