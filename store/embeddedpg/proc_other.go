//go:build unix && !linux

package embeddedpg

import "syscall"

// Other systems have no signal for a parent's death: there a server that lost
// its parent runs on until it is stopped, and Start names its pid.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

func children(int) []int { return nil }

func worksIn(pid int, _ string) bool { return !gone(pid) }

func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }
