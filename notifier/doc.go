// Package notifier carries announcements out of Rowrun: what happened to a plan
// goes to the webhooks of its project, what went wrong outside plans to those that
// want it.
//
// What is to be sent stands in rows that the transaction which decided the event
// has written; this package only delivers them, and sends through a function that
// wiring hands it (package notifier/webhook).
//
// # What it promises
//
//   - A delivery is made at least once, with one id and the same bytes at each try,
//     until it is answered with 2xx, its tries are used up (EXHAUSTED), or its
//     webhook is gone (410: DISABLED, with everything else that was for it).
//   - One try at a time: a delivery is claimed with a lease, by any replica, and only
//     the holder of the lease records.
//   - An endpoint that is slow or dead delays no other: each webhook has a few places
//     among the workers, and those that have shown to be slow share a third of them.
//   - What can't be sent for want of a secret or a URL waits, and costs no try.
//   - URLs, secrets and bodies stand in no log and no error.
//
// # What each crash point leads to
//
//	before the claim           the delivery is PENDING; whoever looks next takes it
//	after it, before the send  its lease runs out, somebody sends it
//	after the send             the same: the receiver gets it once more, with the same id
//	after the record           nothing
//
// What wakes the loop carries no state: each pass asks the database. With no
// wake-up at all the sweep finds everything, later.
package notifier
