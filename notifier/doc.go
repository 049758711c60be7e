// Package notifier carries announcements out of Rowrun: what happened to a plan
// goes to the webhooks of its project.
//
// What is to be sent stands in rows that the transaction which decided the event
// has written; this package only delivers them. A delivery is therefore never
// lost by a crash, may arrive twice, and then carries the same id and the same
// bytes. Each channel is a package of its own below this one; every HTTP client
// comes from notifier/egress.
package notifier
