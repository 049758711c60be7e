//go:build !linux

package storetest

// directory is where clusters of tests are made. Empty: the system's temporary directory.
func directory() string { return "" }
