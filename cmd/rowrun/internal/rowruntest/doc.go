// Package rowruntest is what the tests of the program's packages share: command lines in this process, connections and files
// of --config.
package rowruntest
