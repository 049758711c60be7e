// Package drill makes an outage on purpose, in a queue of its own, and says what a deployment made of it.
//
// Workers are lost with runs on them: processes that the drill starts and kills, or replicas that a person stops. Then it
// looks, from outside, how soon the database says so, what monitoring sees, whether the runs are settled, and whether new
// workers finish the rest. Each step has a deadline and the reason for it; Judge holds one against the other, and asks nobody.
//
// # What it makes
//
// One task, its runs and, where the workers are its own, their rows in replica_heartbeat. All carry one name, rowrun_drill_ and
// eight hexadecimal digits: the task's name, its queue (another one where that was asked for), its label "rowrun_drill" and the
// beginning of the workers' names. The task comes first and goes last but for those rows, so that whatever crash comes in between,
// Clean finds it by label and name and removes what hangs on it. What lacks one of the two is never written. A session lock tells a
// drill that runs from one that was killed.
//
// # What its workers do
//
// A worker is scheduler/replica with one type, Type, which nobody else runs, in one queue. As any replica it promotes what is
// due and settles what is lost; it delivers no webhook, writes no stream and removes nothing that is old. So that this is
// nothing new to the others' work, a drill refuses to begin where others' work waits and no replica lives, unless it is told
// to. A worker hears of its parent's end by the end of its standard input, and ends too.
//
// It speaks SQL as a user does, and needs the rights of rowrun_client and of rowrun_replica (for its workers), or of
// rowrun_operator alone where people stop their own. Its statements begin with "-- drill_".
package drill
