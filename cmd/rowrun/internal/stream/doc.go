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
// # From the log
//
// A [WAL] reads committed transactions from the deployment's replication slot.
// A row's new version tells the transition: prev_status is the edge that it
// took. The slot's place moves behind what was written, and is all the state
// there is: whoever reads next goes on there, and repeats what was written but
// not confirmed. Where the slot, its log or its server is another one than the
// last recorded position says, a gap with that position stands first, then what
// the rows know since, then a new slot where one is needed. While rows and log
// tell the same (up to the end of the log when the rows were read), lines that
// the rows have told are dropped.
//
// While it reads, the holder may silence INSERTs: it holds a lock that their
// trigger asks for, and wakes everybody when it sees them.
//
// # From notifications and rows
//
// Notifications name runs, in the order of the commits, and a status that each
// has reached. Anybody can send one, so they are candidates to look at: the row
// tells which transitions there were, up to the status named, and what was
// printed is remembered. Rows that this replica has written itself needn't be
// read ([Own]). Of a run that isn't remembered, what was committed
// before a moment (the floor) was told. Inserts are announced without
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
// While the server's queue of notifications is full nothing is told. A look at inserts says so, and the rows are looked at as a
// whole, between two gaps, until every transaction that may have found it full has ended.
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
//   - The writer is told to stop: it leaves how far rows were written, or the
//     slot, and the next one begins from exactly there.
//   - The writer dies: the server frees the lock with its session, another
//     replica takes over within some seconds and begins where the slot stands,
//     or, from rows, with a gap and what the rows know since.
//   - It dies between a write and its confirmation: the next one repeats it.
//   - It dies between making a slot and recording a first position: the next
//     one records it. Between a gap and recording the position behind it: the
//     gap is said again.
//   - A pass fails: what it was told is kept and tried again; what comes
//     meanwhile waits in the subscription, and overflows into a gap.
//   - The output is gone, or nobody reads it: `rowrun stream` ends; a replica gives
//     the lock back.
package stream
