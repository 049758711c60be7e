//go:build unix

package store

import (
	"errors"
	"net"
	"syscall"
)

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
