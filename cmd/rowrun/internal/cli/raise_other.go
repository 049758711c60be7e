//go:build !unix

package cli

import "os"

// raise ends this process: here a signal can't be sent to it.
func raise(os.Signal) { os.Exit(ExitFailed) }
