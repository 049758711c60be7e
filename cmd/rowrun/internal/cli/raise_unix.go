//go:build unix

package cli

import (
	"os"
	"syscall"
)

// raise has a signal take its effect on this process.
func raise(s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), number)
	}
}
