package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// limitFiles has a server and all its processes write no further than so many bytes into a file: the postmaster first, so that whoever it starts from then
// on does so too. Only the server's user may say so.
func limitFiles(postmaster int, most string) error {
	owner, err := os.Stat(fmt.Sprintf("/proc/%d", postmaster))
	if err != nil {
		return err
	}
	limit := func(pid int) error {
		cmd := exec.Command("prlimit", "--pid", strconv.Itoa(pid), "--fsize="+most+":") //nolint:noctx // it is over at once
		if is := owner.Sys().(*syscall.Stat_t); int(is.Uid) != os.Getuid() {            //nolint:forcetypeassert // of Linux
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: is.Uid, Gid: is.Gid}}
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := limit(postmaster); err != nil {
		return err
	}
	for range 2 { // one that was just being started is there the second time
		children, err := measure.Children(postmaster)
		if err != nil {
			return err
		}
		for _, pid := range children {
			_ = limit(pid) // it may just have ended
		}
	}
	return nil
}
