// Package client inserts runs from a Go program: one, or many in one statement, in the program's own transaction, with pgx
// or with database/sql. It imports nothing but the standard library, so that a program that only inserts brings no replica
// along; what runs them is `rowrun serve` or package replica.
//
//	id, err := client.Enqueue(ctx, tx, client.Job{Task: "send receipt", Input: receipt{Order: 17}, IdempotencyKey: "order 17"})
//
// # What it promises
//
// A run inserted in a transaction exists when that commits, and not where it rolls back. What returns an error has inserted
// nothing, or, in a transaction, leaves one to be rolled back. With a pool or a connection there is a third case: the answer was lost
// with the connection, or to a context that ended, and the run is there. A key makes it safe to call again. The id is that of
// the job: retries are rows of their own, and the view rowrun.job finds the last of them by it.
//
// A job with an IdempotencyKey that a run of the task has already is that run: its id is returned, whatever became of it, and
// its input stays what it was. Keys are kept as long as runs are (--retention).
//
// The role needs rowrun_client. Statements work behind a pooler in transaction mode, and with each of pgx's ways to send them.
package client
