// Package measure is what benches measure with: percentiles of what was timed, and what processes have used, of /proc.
//
// `rowrun bench` and the suites of integration/bench share it, so that a figure of the one means the same in the other. It
// imports nothing of ours.
package measure
