// Package cmdexec runs tasks of type COMMAND: a program that the configuration
// names, with arguments of checked types.
//
// It promises:
//   - No shell. Only programs of the configuration run, each argument is one
//     argument whatever it holds, and the environment is made here: nothing of
//     the sidecar's own, which holds database URLs, is handed on.
//   - A run's processes end with the run: when the command has ended, when the
//     run is canceled or out of time, and when the sidecar dies, by kill -9 too.
//     That includes children that left the process group. Execute returns only
//     after the last of them is gone.
//   - The command never waits for whoever records its output. At most 256 KiB
//     of it are kept; what is dropped is counted and said.
//
// Between the sidecar and the command stands a supervisor: the sidecar's own
// binary, started again (MaybeSupervise). It holds one end of a pipe whose other
// end only the sidecar has.
//
//	sidecar ──control pipe──▶ supervisor ──fork, setpgid─▶ command ─▶ …
//	        ◀──status pipe───            (adopts every orphan below it)
//	        ◀──────────── output pipe ────────────────────
//
// The end of the control pipe, closed by Execute or by the kernel when the
// sidecar dies, means "end it all": SIGTERM, and after the grace period SIGKILL,
// to the group and to every process that the supervisor, as the subreaper of its
// descendants, finds to be its child, until none is left. If the supervisor is
// killed, the kernel kills the command, and Execute what is left in the session
// that the supervisor had for itself and its command; only children that made a
// session of their own survive that.
//
// Linux only: elsewhere New refuses every command (elsewhere.go). A command runs as the sidecar's own user: the clean environment
// keeps secrets from being handed on by accident, it is no sandbox.
package cmdexec
