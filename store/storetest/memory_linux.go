package storetest

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	memory = "/dev/shm"
	// roomy is the free space (bytes) from which on clusters may lie in memory: each holds a few hundred databases of 12 MB.
	roomy = 8 << 30
	// abandoned is how long nobody has to hold a cluster's lock before it counts as one whose test was killed.
	abandoned = time.Minute
)

// directory is where clusters of tests are made: in memory where there is plenty, as a test of half a second makes and
// removes a thousand files. Empty: the system's temporary directory.
func directory() string {
	var fs syscall.Statfs_t
	const tmpfs = 0x01021994
	if syscall.Statfs(memory, &fs) != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < roomy { //nolint:gosec // a size
		return ""
	}
	removeAbandoned(memory)
	return memory
}

// removeAbandoned removes clusters whose tests were killed: what lies in memory goes with no reboot of a file system.
func removeAbandoned(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, "rowrun-pg-*", "lock"))
	for _, path := range locks {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = file.Close()
	}
}
