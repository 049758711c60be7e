// Package measure is what benches measure with: percentiles of what was timed, what processes have used, of /proc, and
// child processes.
//
// `rowrun bench` and the suites of integration/bench share it, so that a figure of the one means the same in the other;
// `rowrun drill` starts its workers by it. It imports nothing of ours.
package measure
