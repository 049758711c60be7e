// Package history keeps the last lines of the stream that this replica has seen, and hands them to any number of
// readers.
//
// # What it promises
//
// Append never waits for a reader. A reader gets every line from the place where it began, in order; one that falls
// behind by more than the history holds is told errSlow and gets nothing more. A reader that resumes at a position
// goes on where it was, or is told that it can't.
//
// # Positions
//
// Each line has a position, an opaque text. A source that knows one gives it (the log sequence number of the
// transaction: all lines of a transaction have the same), and a reader that resumes there gets that transaction again.
// Where the source knows none the history numbers its lines itself; such a position is good for this process only, and
// a reader that resumes there gets what follows. A reader has such a position of its own from its beginning on (see
// [Reader.Position]), so that one that has got no line yet can resume too.
//
// A transaction of which lines were forgotten is not found, as the rest of it is not all.
package history
