// Package cli is what every command has in common: how a command line is run and what its exit code says, flags and the
// variables that stand for them, the forms of what is shown, the log, secrets, signals.
//
// It knows no command and asks no database. What it shows never moves a terminal's cursor: names and details come from
// users and from programs that were run.
package cli
