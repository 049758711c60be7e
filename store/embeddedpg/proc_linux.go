package embeddedpg

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent lets the kernel send sig to the child when the thread that
// started it ends, thus at the latest when this process does.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// children lists the processes that pid forked.
func children(pid int) []int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		return nil
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// worksIn says whether pid is a process whose working directory is dir, as a
// server's is its data directory: a bare pid may long be somebody else's.
func worksIn(pid int, dir string) bool {
	cwd, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	return err == nil && cwd == dir
}

// gone says whether pid has ended; a zombie that nobody reaps has.
func gone(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, after, ok := strings.Cut(string(text), ") ")
	return ok && strings.HasPrefix(after, "Z")
}
