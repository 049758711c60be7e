// Package stream turns changes of status into lines, one per transition, for
// people and programs.
//
// # What it promises
//
// A [Reader] prints each transition that it is told of once, a run's own
// transitions in their order and its insert first. Where it may have missed
// some, a line with the event stream.gap stands in their place. It never says
// what did not happen, and never more than once.
//
// # Where the lines come from
//
// Notifications tell the transitions, in the order of their commits; what else
// stands in a line is read from the rows. Inserts are announced without
// telling of which (see the migrations), so they are looked for by id:
//
//	ids   1 … first … high …
//	          │        └ beyond: looked at in each pass
//	          └ before: there when the reader began
//
// Between first and high an id is seen, a hole, or lost. A hole is an id that
// was passed over: taken from the sequence by a transaction that is still open,
// or rolled back. It is looked into until every transaction that can have taken
// it has ended, and once more after that. Then it is lost: an insert that turns
// up there all the same (an id that was drawn in one transaction and used in
// another) is printed with its first transition. A wide hole is what an id given
// by hand leaves behind; the sequence is still below it, so it stays a hole.
//
// A transition that is told was committed before it was told, so a pass looks
// for inserts first and then prints the transitions: each follows its insert.
//
// # One writer
//
// An [Election] holds a session lock on the listener's own connection. Whoever
// has it writes the deployment's stream. Losing the connection stops the reader
// before the connection is closed; only where the server ended the session can
// another replica be quicker, by as long as it takes to notice.
//
// # Crash points
//
//   - The writer dies: the server frees the lock with its session, another
//     replica takes over within some seconds and begins with a gap.
//   - A pass fails: what it was told is kept and tried again; what comes
//     meanwhile waits in the subscription, and overflows into a gap.
//   - The output is gone: `rowrun stream` ends; a replica gives the lock back.
package stream
