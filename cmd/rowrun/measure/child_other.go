//go:build !linux

package measure

import "syscall"

// DieWithParent does nothing: only Linux has a signal for a parent's death. What measures needs Linux anyway, for /proc.
func DieWithParent(*syscall.SysProcAttr) {}

// OwnGroup does nothing.
func OwnGroup(*syscall.SysProcAttr) {}
