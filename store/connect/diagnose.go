package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/events"
)

// Trouble is why there is no connection: in words that stay the same as long
// as the cause does, and without the login.
type Trouble struct {
	Text string
	Wait bool // time may mend it
}

// Diagnose tells a database that isn't up yet from one that never will be.
// What it doesn't know is waited for: an outage must not end a sidecar.
func Diagnose(err error) Trouble {
	switch {
	case errors.Is(err, errStandby):
		return Trouble{Text: "is a standby, and Rowrun writes: give the primary's address, " +
			"or all addresses with target_session_attrs=read-write"}
	case errors.Is(err, events.ErrQueueFull):
		return Trouble{Text: events.ErrQueueFull.Error() + ": end the session that listens in a long transaction " +
			"(pg_stat_activity, state 'idle in transaction', oldest xact_start)", Wait: true}
	case errors.Is(err, errOldServer):
		return Trouble{Text: err.Error() + "; PostgreSQL 15 or later is needed"}
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return diagnoseServer(server)
	}
	return diagnoseNetwork(err)
}

func diagnoseServer(err *pgconn.PgError) Trouble {
	said := strings.TrimSpace(err.Message) + " (SQLSTATE " + err.Code + ")"
	switch err.Code {
	case "28P01":
		return Trouble{Text: "wrong user or password: " + said}
	case "28000":
		return Trouble{Text: "login refused, look at the role and at pg_hba.conf: " + said}
	case "3D000":
		return Trouble{Text: "no such database, create it or name another: " + said}
	case "42501":
		return Trouble{Text: "the role may not do this, it needs CONNECT on the database: " + said}
	case "57P03":
		return Trouble{Text: said, Wait: true}
	}
	switch err.Code[:min(2, len(err.Code))] {
	case "08", "53", "57", "58", "XX":
		return Trouble{Text: said, Wait: true}
	}
	return Trouble{Text: "refused: " + said}
}

func diagnoseNetwork(err error) Trouble {
	var (
		lookup      *net.DNSError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		certificate *tls.CertificateVerificationError
		preferred   *pgconn.NotPreferredError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &hostname):
		return Trouble{Text: "the server's certificate is not trusted: look at sslmode and sslrootcert"}
	case refusedTLS(err):
		return Trouble{Text: "the server has no TLS, which sslmode asks for: turn it on there, or look at sslmode"}
	case errors.As(err, &preferred):
		return Trouble{Text: "no server with the wanted target_session_attrs", Wait: true}
	case errors.As(err, &lookup):
		return Trouble{Text: "host name not found", Wait: true}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Trouble{Text: "connection refused", Wait: true}
	case errors.Is(err, os.ErrNotExist):
		return Trouble{Text: "no socket there", Wait: true}
	case errors.Is(err, os.ErrPermission):
		return Trouble{Text: "no permission to use the socket", Wait: true}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return Trouble{Text: "no answer in time", Wait: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return Trouble{Text: "connection closed by the other side", Wait: true}
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		return Trouble{Text: operation.Err.Error(), Wait: true}
	}
	return Trouble{Text: "no connection", Wait: true}
}

// refusedTLS says whether each try met a server without TLS. By sslmode=prefer another one follows without it, whose error counts.
func refusedTLS(err error) bool {
	if err == nil {
		return false
	}
	tries := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		tries = joined.Unwrap()
	}
	for _, try := range tries {
		if !strings.Contains(try.Error(), "server refused TLS connection") { // pgconn has no name for it
			return false
		}
	}
	return true
}
