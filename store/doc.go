// Package store is the only place that knows SQL on Rowrun's tables. Whoever calls it decides when; the statements
// here and the functions in the migrations decide how.
//
// # What it promises
//
// Every change of a run's status is one compare-and-set that names the old status and, for a RUNNING run, the claim
// of its holder. A result that names no row means that the race was lost: the run ended, or belongs to somebody else
// now. Nothing is then written.
//
// What a person may do in psql and what a replica does is one set of SQL functions (end_runs, cancel_run, retry_run,
// ...), called from here. What only replicas do (claim, heartbeat, sweep, retention) is SQL in this package: each statement
// stands whole in sql, in a file of its name. The gates are SQL in the migrations, so that replicas of different versions
// never have two opinions about one.
//
// # Order of locks
//
// Everywhere the same: replica_heartbeat, worker_claim, plan (ids ascending), task (ids ascending), task_run (ids ascending), run_after.
// Where a transaction picks rows that others may hold, it does so with SKIP LOCKED. 40P01 and 40001 are retried by the
// caller's next pass; final writes are retried until they are recorded or refused. A step of an act (rowrun.step_act) locks the
// act first and its targets one after the other; it waits for none of these for longer than 300 ms while it holds another.
//
// # Time
//
// Decisions use the database's clock. Durations that this process measures only bound how long it may trust its lease.
package store
