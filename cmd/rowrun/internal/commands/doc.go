// Package commands has the commands of the program, one file each; those under one word (run, plan, stream, …) share its
// name as prefix.
//
// A command reads its flags, asks the packages below it, and shows the answer in a form of cli. What it returns as an
// error is said to whoever called it: cli.Usagef for wrong use (exit code 2), anything else for a failure (1).
package commands
