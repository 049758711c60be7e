package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/rowrun/rowrun/notifier/egress"
)

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// describe puts the error of a request that got no answer into one of a few texts: what the libraries say names the
// URL, the host or an address.
func describe(ctx context.Context, err error) string {
	var timeout net.Error
	var unknown *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, egress.ErrPrivate):
		return "the address is not public, and --webhook-allow-cidr does not name it"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no answer in time"
	case ctx.Err() != nil:
		return "the try was broken off"
	case errors.As(err, &unknown):
		return "the host's name could not be resolved"
	case errors.As(err, &certificate):
		return "the host's certificate was not accepted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the host does not speak TLS there"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the answer"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host can't be reached"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no connection in time"
	}
	return "no answer that is HTTP"
}

// longest is as good as any longer time: whoever honours it has a limit of its own.
const longest = 365 * 24 * time.Hour
