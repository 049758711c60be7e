// Command rowrun is a sidecar for PostgreSQL: a row inserted into
// rowrun.task_run is run by one healthy replica.
//
// This package is the only one that knows all others: it reads the
// configuration, wires the parts together and maps errors to exit codes
// (0 done, 1 failed, 2 wrong use). It decides nothing about runs.
package main

import (
	"context"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler/cmdexec"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

func main() {
	cmdexec.MaybeSupervise() // returns unless this process was started to hold a command's group

	// zerolog keeps its time format in globals; they are set once, here.
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000000Z07:00"
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }

	ctx, stop := untilSignal(context.Background())

	code := run(ctx, os.Args[1:], environment{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: newUnhurried(os.Stderr),
		lookup: os.LookupEnv,
	})
	stop()
	os.Exit(code)
}
