// Package scheduler decides when: when to promote and claim, when a run has taken too long, when this replica may not
// be trusted any more, when others may not. How each is done is SQL in package store. The executors in the packages
// below it do the work of the task types.
//
// # A replica's life
//
// A Scheduler lives as long as its process; inside it one incarnation follows another. An incarnation has one replica id and one row
// in replica_heartbeat. It begins with its first heartbeat, before the first claim. It ends in one of three ways:
//
//	drain   the process is asked to stop: nothing new is claimed, work may finish, then what is left is stopped
//	        (DRAINED), heartbeats go on until the end, and the row is deleted last
//	fence   no heartbeat could be written for two thirds of the lease: the incarnation's executors are stopped and their
//	        runs recorded as LOST_CONTACT as soon as the database answers
//	dead    another replica declared it dead: the same, and what it writes is refused
//
// After a fence or a death a new incarnation begins, under a new id.
//
// # Invariants
//
//   - At most Concurrency executors run, over all incarnations: one that ignores its cancel keeps its slot.
//     Schedulers that share a Pool run at most as many as it has slots, over all of them.
//   - An ending is recorded at most once, by compare-and-set on the claim, and tried until it is recorded or refused.
//   - What wakes a pass carries no state: every pass asks the database what there is to do. With no wake-up at all the
//     sweep does everything, later.
//
// # What each crash point leads to
//
//	before the claim's commit       the run is AVAILABLE; somebody else claims it
//	after it                        RUNNING under an id that falls silent: STALE after the lease and a sweep
//	after it, its answer lost       this replica finds a row under its id that it doesn't run: LOST_CONTACT
//	after the work, before the end  the effect has happened and the run is STALE: executors hand on run id and claim
//	after the end's commit          nothing: successors, marks and notifications are of that same transaction
package scheduler
