package measure

import "syscall"

// dieWithParent ends a process that this one starts when this one ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// ownGroup keeps a terminal's Ctrl-C from a process that this one starts.
func ownGroup(attr *syscall.SysProcAttr) { attr.Setpgid = true }
