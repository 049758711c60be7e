// Package tracing makes a span of each run that a replica executes, and hands it to OpenTelemetry.
//
// # What it promises
//
// Nothing happens unless the environment names an exporter in the variables OTEL_*, which mean what OpenTelemetry says.
// A span never waits: what the collector doesn't take in time is dropped. The span of a run is linked to the trace that
// asked for it, where the run's input or its task's labels hold a `traceparent`; a retry has a span of its own with the
// same link. Spans hold ids, names and codes; never a payload, a result or a detail.
package tracing
