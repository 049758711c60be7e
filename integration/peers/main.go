// Command peers lets other job queues for PostgreSQL do what the benchmark asks of Rowrun, on a database that the
// benchmark gives it. A module of its own, so that none of them enters Rowrun's dependencies.
//
//	DATABASE_URL=… peers river-tuned|river-defaults fill JOBS
//
// makes the peer's schema where it is missing, empties it and inserts JOBS jobs that do nothing.
//
//	DATABASE_URL=… peers river-tuned|river-defaults drain JOBS
//
// lets one client work them off and prints one line of JSON, a result: the time from the client's start to the last job
// that it reports as recorded. It fails where a job did not complete.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// result is what one round measured.
type result struct {
	Peer     string  `json:"peer"`
	Version  string  `json:"version"`
	Settings string  `json:"settings"`
	Jobs     int     `json:"jobs"`
	Seconds  float64 `json:"seconds"`
	// CPUSeconds is what this process used meanwhile, user and system.
	CPUSeconds float64 `json:"cpu_seconds"`
}

const (
	// connections is the most that a peer's pool holds: as many as Rowrun's pool has by default.
	connections = 10
	// patience bounds one round.
	patience = 10 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: peers river-tuned|river-defaults fill|drain JOBS")
	}
	jobs, err := strconv.Atoi(args[2])
	if err != nil || jobs < 1 {
		return fmt.Errorf("JOBS: %q is not a number above 0", args[2])
	}
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		return errors.New("DATABASE_URL is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var settings riverSettings
	switch args[0] {
	case "river-tuned":
		settings = riverTuned()
	case "river-defaults":
		settings = riverDefaults()
	default:
		return fmt.Errorf("%q is not a peer; known: river-tuned, river-defaults", args[0])
	}
	r, err := openRiver(ctx, url, settings)
	if err != nil {
		return err
	}
	defer r.pool.Close()
	switch args[1] {
	case "fill":
		return r.fill(ctx, jobs)
	case "drain":
		drained, err := r.drain(ctx, jobs)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(drained)
	}
	return fmt.Errorf("%q is not known; known: fill, drain", args[1])
}

// version is that of a module in this binary.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "unknown"
}

// cpuSeconds is what this process has used so far.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
