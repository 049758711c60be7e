package measure

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Pin has processes, their threads and their children run on the first cores of the machine only, and those that they start from then on.
func Pin(cores int, pids ...int) error {
	var set unix.CPUSet
	for core := range cores {
		set.Set(core)
	}
	for _, pid := range pids {
		all, err := Children(pid)
		if err != nil {
			return err
		}
		for _, process := range append(all, pid) {
			threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", process))
			if err != nil && process != pid {
				continue // ended meanwhile
			}
			if err != nil {
				return err
			}
			for _, thread := range threads {
				id, err := strconv.Atoi(thread.Name())
				if err != nil {
					continue
				}
				if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH { //nolint:errorlint // a number
					return fmt.Errorf("process %d: %w", process, err)
				}
			}
		}
	}
	return nil
}
