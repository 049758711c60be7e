//go:build unix

package stream

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writable says that a file takes something now.
func writable(file *os.File) bool { return polled(file, 0) == unix.POLLOUT }

// room waits a moment until a file takes something, or says that it never will.
func room(file *os.File) bool { return polled(file, lookForRoom) != 0 }

// polled is what poll(2) says of a file within so many ms. One that can't be asked takes what it is given.
func polled(file *os.File, ms int) (events int16) {
	raw, err := file.SyscallConn()
	if err != nil {
		return unix.POLLOUT
	}
	_ = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}} //nolint:gosec // a descriptor
		_, err := unix.Poll(poll, ms)
		events = poll[0].Revents
		if err != nil && !errors.Is(err, unix.EINTR) {
			events = unix.POLLOUT
		}
	})
	return events
}
