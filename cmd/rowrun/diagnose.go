package main

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

// trouble is why there is no connection: in words that stay the same as long
// as the cause does, and without the login.
type trouble struct {
	text string
	wait bool // time may mend it
}

// diagnose tells a database that isn't up yet from one that never will be.
// What it doesn't know is waited for: an outage must not end a sidecar.
func diagnose(err error) trouble {
	switch {
	case errors.Is(err, errStandby):
		return trouble{text: "is a standby, and Rowrun writes: give the primary's address, " +
			"or all addresses with target_session_attrs=read-write"}
	case errors.Is(err, events.ErrQueueFull):
		return trouble{text: events.ErrQueueFull.Error() + ": end the session that listens in a long transaction " +
			"(pg_stat_activity, state 'idle in transaction', oldest xact_start)", wait: true}
	case errors.Is(err, errOldServer):
		return trouble{text: err.Error() + "; PostgreSQL 15 or later is needed"}
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return diagnoseServer(server)
	}
	return diagnoseNetwork(err)
}

func diagnoseServer(err *pgconn.PgError) trouble {
	said := strings.TrimSpace(err.Message) + " (SQLSTATE " + err.Code + ")"
	switch err.Code {
	case "28P01":
		return trouble{text: "wrong user or password: " + said}
	case "28000":
		return trouble{text: "login refused, look at the role and at pg_hba.conf: " + said}
	case "3D000":
		return trouble{text: "no such database, create it or name another: " + said}
	case "42501":
		return trouble{text: "the role may not do this, it needs CONNECT on the database: " + said}
	case "57P03":
		return trouble{text: said, wait: true}
	}
	switch err.Code[:min(2, len(err.Code))] {
	case "08", "53", "57", "58", "XX":
		return trouble{text: said, wait: true}
	}
	return trouble{text: "refused: " + said}
}

func diagnoseNetwork(err error) trouble {
	var (
		lookup      *net.DNSError
		authority   x509.UnknownAuthorityError
		hostname    x509.HostnameError
		certificate *tls.CertificateVerificationError
		preferred   *pgconn.NotPreferredError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &hostname):
		return trouble{text: "the server's certificate is not trusted: look at sslmode and sslrootcert"}
	case errors.As(err, &preferred):
		return trouble{text: "no server with the wanted target_session_attrs", wait: true}
	case errors.As(err, &lookup):
		return trouble{text: "host name not found", wait: true}
	case errors.Is(err, syscall.ECONNREFUSED):
		return trouble{text: "connection refused", wait: true}
	case errors.Is(err, os.ErrNotExist):
		return trouble{text: "no socket there", wait: true}
	case errors.Is(err, os.ErrPermission):
		return trouble{text: "no permission to use the socket", wait: true}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return trouble{text: "no answer in time", wait: true}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return trouble{text: "connection closed by the other side", wait: true}
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		return trouble{text: operation.Err.Error(), wait: true}
	}
	return trouble{text: "no connection", wait: true}
}
