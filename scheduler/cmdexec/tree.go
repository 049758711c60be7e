//go:build linux

package cmdexec

import (
	"os"
	"syscall"
	"time"
)

const (
	// killTimeout is how long SIGKILL is repeated; what survives it hangs in the
	// kernel or belongs to another user.
	killTimeout = 10 * time.Second
	// rescan is how often the tree is looked at again where no child's end says so.
	rescan = 50 * time.Millisecond
)

// tree is the command and all that it started. Its methods run in one goroutine
// of the supervisor, which alone reaps: a child's pid therefore can't be reused
// between looking at it and signaling it. Only children are signaled, and the
// group while its leader isn't reaped; what is deeper becomes a child when its
// parent ends.
type tree struct {
	leader  int
	changed <-chan os.Signal // SIGCHLD

	ended  bool // the leader has; status says how
	status syscall.WaitStatus
	empty  bool // no child is left
}

// wait returns true when the command has ended, false when told is closed first.
func (t *tree) wait(told <-chan struct{}) bool {
	for {
		if t.reap(); t.ended {
			return true
		}
		select {
		case <-t.changed:
		case <-told:
			t.reap() // of both at once, its own end counts
			return t.ended
		}
	}
}

// reap takes note of every child that has ended.
func (t *tree) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case pid <= 0:
			t.empty = err == syscall.ECHILD
			return
		case pid == t.leader:
			t.ended, t.status = true, status
		}
	}
}

// end asks what is left to end, kills it after grace, and returns how many
// processes survived that.
func (t *tree) end(grace time.Duration) int {
	kill := time.Now().Add(grace)
	giveUp := kill.Add(killTimeout)
	asked := map[int]bool{}
	self, groupAsked := os.Getpid(), !t.ended
	if groupAsked {
		terminate(-t.leader)
	}
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		t.reap()
		if t.empty {
			return 0
		}
		now, left := time.Now(), processes(func(p process) bool { return p.parent == self })
		switch {
		case now.After(giveUp):
			return len(left)
		case now.After(kill):
			if !t.ended {
				_ = syscall.Kill(-t.leader, syscall.SIGKILL)
			}
			for _, c := range left {
				_ = syscall.Kill(c.pid, syscall.SIGKILL)
			}
		default:
			// Each is asked once: some programs take a second SIGTERM for impatience.
			for _, c := range left {
				if !asked[c.pid] && (!groupAsked || c.group != t.leader) {
					asked[c.pid] = true
					terminate(c.pid)
				}
			}
		}
		select {
		case <-t.changed:
		case <-tick.C:
		}
	}
}

// terminate asks a process, or a group where pid is negative, to end; one that
// is stopped must go on to hear it.
func terminate(pid int) {
	_ = syscall.Kill(pid, syscall.SIGTERM)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}
