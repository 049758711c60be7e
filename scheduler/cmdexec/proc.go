//go:build linux

package cmdexec

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// process is what /proc says of one.
type process struct {
	pid, parent, group, session int
	zombie                      bool
}

// processes lists those that the filter takes. /proc/<pid>/task/*/children would
// be cheaper for children, but may miss some while others end.
func processes(take func(process) bool) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok && take(p) {
			found = append(found, p)
		}
	}
	return found
}

// readProcess is false for a process that has ended and been reaped.
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// pid (name) state ppid pgrp session …; the name may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return process{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(fields[i])) // the kernel wrote it
		return n
	}
	return process{
		pid: pid, zombie: string(fields[0]) == "Z", parent: number(1), group: number(2), session: number(3),
	}, true
}

// killSession kills every process of a session and returns when none is left, or
// after killTimeout.
func killSession(id int) {
	giveUp := time.NewTimer(killTimeout)
	defer giveUp.Stop()
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		left := processes(func(p process) bool { return p.session == id && !p.zombie })
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			killIn(id, p.pid)
		}
		select {
		case <-tick.C:
		case <-giveUp.C:
			return
		}
	}
}

// killIn kills a process if it is still of the session. Whoever has its id by
// then isn't hit: os.FindProcess holds on to the process that is looked at next.
func killIn(session, pid int) {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if p, ok := readProcess(pid); ok && p.session == session {
		_ = handle.Kill()
	}
}
