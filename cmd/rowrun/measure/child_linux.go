package measure

import "syscall"

// DieWithParent ends a process that this one starts when this one ends.
func DieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// OwnGroup keeps a terminal's Ctrl-C from a process that this one starts.
func OwnGroup(attr *syscall.SysProcAttr) { attr.Setpgid = true }
