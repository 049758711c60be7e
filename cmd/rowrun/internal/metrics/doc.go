// Package metrics counts what one replica does, and tells Prometheus.
//
// # What it promises
//
// Counting never waits and never asks the database. What has to be asked of the database (runs that wait, live
// replicas, the notification queue, the slot) is asked only when somebody scrapes, at most every 15 seconds, within two
// seconds, and reads a bounded number of rows. Labels come from closed sets: the statuses, the types that this replica
// runs, "other" for the rest.
//
// How long runs wait from insert to start stands in the database alone: it is asked of a sample of at most 200 of the
// runs that were claimed here, once a second, and not at all while nothing is claimed.
package metrics
