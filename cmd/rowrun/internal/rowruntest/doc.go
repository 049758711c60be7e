// Package rowruntest is what the tests of the program's packages share: command lines in this process, connections, files
// of --config, a server that refuses every login.
package rowruntest
