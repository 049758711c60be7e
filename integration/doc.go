// Package integration holds the black-box tests: the real binary as processes of its own, SQL as users write it, an
// HTTP server in the place of their app, and faults as they happen to a deployment: kill -9, a process that is stopped
// and goes on, a database that goes away, connections that fall silent or lose an answer.
//
// It knows the binary, the schema and HTTP, and nothing of the inside. What can be proven with two Runs in one process
// is proven in the packages.
//
// Each fault test first asserts that its fault took hold, and fails where it didn't. Where a time is promised that is
// shorter than a sweep, the sweeps are 10 min apart, so that only a wake-up can have brought the work; the time is
// logged, and never asserted tightly.
package integration
