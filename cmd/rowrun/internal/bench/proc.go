package bench

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticksPerSecond is the unit of CPU time in /proc on every Linux that Go runs on.
const ticksPerSecond = 100

// dieWithParent ends a replica whose bench was killed.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// cpuSeconds is what a process has used so far. False: it can't be read.
func cpuSeconds(pid int) (float64, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before it may hold anything
	if len(fields) < 13 {
		return 0, false
	}
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	return float64(user+system) / ticksPerSecond, userErr == nil && systemErr == nil
}

// residentMiB is what a process holds in memory, and the most that it held. False: it can't be read.
func residentMiB(pid int) (now, peak float64, ok bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, 0, false
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "VmHWM" {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			return 0, 0, false
		}
		if name == "VmRSS" {
			now, ok = kib/1024, true
		} else {
			peak = kib / 1024
		}
	}
	return now, peak, ok
}
