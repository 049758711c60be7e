// Package doctor looks at a deployment for what is wrong or will be, and changes nothing.
//
// checks.go lists the checks in their order, each with its name and the statements of store that it sends. A check judges
// the answer and adds findings: what it saw, how bad that is, and the command that mends it. One file has the checks of one
// subject:
//
//	unreachable.go  the file of the sidecars; a database that doesn't answer
//	server.go       version, settings, connections, notification queue, clock
//	connection.go   poolers, encryption
//	schema.go       version, privileges, drift, sequences
//	deployment.go   copies of a database
//	role.go         what the sidecar's role may do too much, code of others, target databases
//	fleet.go        target databases that live replicas can not reach
//	settings.go     settings that fail in silence
//	upkeep.go       vacuum, snapshots, slots
//	replicas.go     replicas, runs that none of them takes
//	locks.go        locks that replicas go without; checks that have no answer
//	reserved.go     slots that no run of low priority gets
//	stopped.go      webhooks and schedules that stand still
//
// A new check is a method in the file of its subject, and a line in checks.go. It says that all is well, too, so that a
// person sees what was looked at. The command of its finding is executed by a test: the fault is gone afterwards.
package doctor
