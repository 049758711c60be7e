// Command rowrun is a sidecar for PostgreSQL: a row inserted into
// rowrun.task_run is run by one healthy replica.
//
// This package starts the process; root.go runs the command line. Below it internal/commands has the commands, replica and
// dev what the long-lived ones run, database the way to Rowrun's database, cli what all of them have in common. Nothing
// imports a package above it.
package main

import (
	"context"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/scheduler/cmdexec"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

// versionOf is what the build set, or what `go install …@VERSION` knows of the module.
func versionOf(set string, read func() (*debug.BuildInfo, bool)) string {
	if info, ok := read(); set == "dev" && ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return set
}

func main() {
	cmdexec.MaybeSupervise() // returns unless this process was started to hold a command's group

	// A crash, or the SIGABRT of a watchdog, ends this process by a signal. Go's own way is to exit with 2, which says wrong
	// use: a service manager leaves that ended.
	debug.SetTraceback("crash")

	// zerolog keeps its time format in globals; they are set once, here.
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000000Z07:00"
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }

	ctx, stop := cli.UntilSignal(context.Background())

	stderr := cli.NewUnhurried(os.Stderr)
	code := run(ctx, os.Args[1:], cli.Environment{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  stderr,
		Lookup:  os.LookupEnv,
		Environ: os.Environ,
		Version: versionOf(version, debug.ReadBuildInfo),
	})
	stop()
	stderr.Flush()
	os.Exit(code)
}
