// Package ha proves Rowrun on a PostgreSQL that fails over: nodes of Patroni with etcd, three sidecars, each in a network
// namespace of its own, under load. Its tests have the build tag ha, want root and Linux, and are run by make test-ha:
// whatever is missing there fails them.
//
// What they make is named by the prefix rwha: a run that was killed is swept away by the next one.
package ha
