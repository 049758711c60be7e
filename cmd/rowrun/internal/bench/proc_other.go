//go:build !linux

package bench

import "syscall"

// Other systems have no signal for a parent's death, and no /proc: figures of
// CPU and memory are left out there.

func dieWithParent(*syscall.SysProcAttr) {}

func cpuSeconds(int) (float64, bool) { return 0, false }

func residentMiB(int) (now, peak float64, ok bool) { return 0, 0, false }
