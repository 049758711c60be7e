//go:build !linux

package measure

import "syscall"

// dieWithParent does nothing: only Linux has a signal for a parent's death. What measures needs Linux anyway, for /proc.
func dieWithParent(*syscall.SysProcAttr) {}

// ownGroup does nothing.
func ownGroup(*syscall.SysProcAttr) {}
