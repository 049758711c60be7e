//go:build unix

package commands

// servable: a replica runs here.
func servable() error { return nil }
