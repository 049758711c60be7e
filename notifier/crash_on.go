//go:build crashpoints

package notifier

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// passed counts how often the chosen point was passed.
var passed atomic.Int64 //nolint:gochecknoglobals // one process dies once

// CrashPoint kills this process, without a word, where ROWRUN_CRASH_AT=name[:n] names the point and it is passed for
// the n-th time (default 1).
func CrashPoint(name string) {
	chosen, count, _ := strings.Cut(os.Getenv("ROWRUN_CRASH_AT"), ":")
	if chosen != name {
		return
	}
	nth := int64(1)
	if count != "" {
		var err error
		if nth, err = strconv.ParseInt(count, 10, 64); err != nil {
			panic("ROWRUN_CRASH_AT: want name or name:n")
		}
	}
	if passed.Add(1) == nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal takes hold
	}
}
