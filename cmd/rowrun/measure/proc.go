package measure

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of CPU time in /proc on every Linux that Go runs on.
const ticksPerSecond = 100

// CPUSeconds is what a process has used so far, with the children that it has waited for.
func CPUSeconds(pid int) (float64, error) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	var ticks int
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("stat of process %d: %w", pid, err)
		}
		ticks += n
	}
	return float64(ticks) / ticksPerSecond, nil
}

// ServerSeconds is what a postmaster, its processes and those that have ended have used so far.
func ServerSeconds(postmaster int) (float64, error) {
	sum, err := CPUSeconds(postmaster)
	if err != nil {
		return 0, err
	}
	all, err := Children(postmaster)
	if err != nil {
		return 0, err
	}
	for _, pid := range all {
		if own, err := CPUSeconds(pid); err == nil {
			sum += own
		}
	}
	return sum, nil
}

// Children are the processes whose parent a process is.
func Children(parent int) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		fields, err := statFields(pid)
		if err != nil || fields[1] != strconv.Itoa(parent) {
			continue // ended meanwhile, or somebody else's
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// statFields are the fields of /proc/PID/stat behind the name: the first is the state, the second the parent.
func statFields(pid int) ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before it may hold anything
	if len(fields) < 15 {
		return nil, fmt.Errorf("stat of process %d: %d fields", pid, len(fields))
	}
	return fields, nil
}

// Memory is what a process holds resident now, and the most that it held, in MiB.
func Memory(pid int) (now, peak float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		var into *float64
		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			into = &now
		case strings.HasPrefix(line, "VmHWM:"):
			into = &peak
		default:
			continue
		}
		kib, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
		if err != nil {
			return 0, 0, fmt.Errorf("status of process %d: %w", pid, err)
		}
		*into = kib / 1024
	}
	if now == 0 {
		return 0, 0, fmt.Errorf("status of process %d: it holds no memory, it has ended", pid)
	}
	return now, peak, nil
}
