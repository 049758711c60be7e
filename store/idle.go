package store

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// briefly is for how long an idle connection is trusted without a look.
	briefly = time.Second
	// silently is for how long one is trusted on which nothing came, not even its end.
	silently = 30 * time.Second
)

// mustPing says whether a connection is asked before it is used. A server that ends a session says so, by bytes and by
// the end of them: one that has said nothing is taken as it is, which saves each statement of an idle replica a round
// trip and the server a transaction.
func mustPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	return p.IdleDuration > briefly && (p.IdleDuration > silently || !silent(p.Conn.PgConn().Conn()))
}

// silent says that nothing is to be read, as far as the operating system has heard. It takes nothing out and doesn't wait,
// not for another reader either: after a slow write pgx leaves one behind that sits there until the server says something.
func silent(conn net.Conn) bool {
	if encrypted, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = encrypted.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var first [1]byte
	var came error
	err = raw.Control(func(fd uintptr) {
		_, _, came = syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && errors.Is(came, syscall.EAGAIN)
}
