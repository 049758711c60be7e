// Package comingfrom tries the scripts of deploy/coming-from on the schemas of the job queues that they move jobs from: River's
// from its Go module, graphile-worker's and pg-boss's as their npm packages make them, db-scheduler's as its users make it by hand.
// `make test-coming-from` runs it.
//
// It is a module of its own, so that Rowrun's has none of these.
package comingfrom
