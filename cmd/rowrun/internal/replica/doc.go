// Package replica makes one replica of the deployment out of its parts: it reads the configuration, waits for the
// database, wires scheduler, notifier, stream, metrics and HTTP together, and runs them until its context ends.
//
// A stop is in this order: the scheduler drains while deliveries under way come to their end; the stream goes on until
// both are over; listener and HTTP go on until the stream has printed that. It decides nothing about runs.
package replica
