// Package clients holds a program for each library by which applications insert runs: the ones that docs/app.md shows.
// Each does the same as a role in rowrun_client: it inserts a job with a row of its own in one transaction, three more in
// one statement, the first once more by its key, and waits for its end. `make test-clients` runs them.
//
// It is a module of its own, so that Rowrun's has none of these libraries.
package clients
