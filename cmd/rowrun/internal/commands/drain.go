package commands

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// lookForEnd is how often drain looks whether the replica has ended.
const lookForEnd = 50 * time.Millisecond

func newDrain(cli.Environment) *cobra.Command {
	var pid int
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Have the replica of this container drain, and wait for its end: for a preStop hook",
		Long: "Sends SIGTERM to the replica and returns when it has ended: it claims nothing more, and what it runs has --drain-timeout.\n" +
			"Kubernetes ends a sidecar after its app. Where the sidecar calls the app that is the wrong order: with this in the\n" +
			"sidecar's preStop hook it drains while the app is still there. A process that isn't this program is left alone. Linux only.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if pid < 1 {
				return cli.Usagef("--pid: %d is not accepted; accepted: the id of a process", pid)
			}
			if err := checkReplica(pid); err != nil {
				return err
			}
			process, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			defer func() { _ = process.Release() }()
			if err := process.Signal(syscall.SIGTERM); err != nil {
				return fmt.Errorf("process %d: %w", pid, err)
			}
			tick := time.NewTicker(lookForEnd)
			defer tick.Stop()
			for process.Signal(syscall.Signal(0)) == nil {
				select {
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				case <-tick.C:
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&pid, "pid", 1, "the replica's process")
	return cmd
}

// checkReplica says that a process runs the same program as this one.
func checkReplica(pid int) error {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return errors.New("the replica is found by /proc, which isn't here: send it SIGTERM")
	}
	its, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return fmt.Errorf("process %d can't be looked at: %w", pid, err)
	}
	if pid == os.Getpid() || !os.SameFile(own, its) {
		return fmt.Errorf("process %d is no replica: it runs another program; name the replica's process in --pid", pid)
	}
	return nil
}
