// Package replica makes a Go program a replica: Run claims and executes the runs of the task types that the program has
// executors for, until its context ends. It is the package for programs that embed Rowrun, and what it exports is what they
// are promised; of other packages only what it names. Programs that insert runs have package client, their tests rowruntest.
//
// # What a replica does
//
//	start   the configuration is checked, then the database is waited for and its schema looked at; then it registers
//	serve   it sends heartbeats, promotes and claims, woken by notifications; sweeps find what no notification told of.
//	        It does its share for all of the deployment, of every type: opening gates, schedules, retries, runs of
//	        dead replicas, recovery functions, removing what is older than Retention
//	drain   ctx ended: nothing new is claimed, runs may finish, then what is left is stopped (ErrDrained) and recorded
//
// An outage of the database ends nothing: what runs goes on while the lease lasts, and a replica that lost its lease stops
// its runs, and registers again when the database is back.
//
// # What it doesn't do
//
// It writes no stream, delivers no webhooks, and serves no HTTP (/readyz, /metrics). Plans work, and their events are
// decided in the database; what they announce waits there for a `rowrun serve`. Types that the program has no executors
// for, the built-in ones among them, are left to other replicas. It doesn't apply migrations.
package replica
