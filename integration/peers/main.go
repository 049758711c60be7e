// Command peers lets other job queues for PostgreSQL do what the benchmark asks of Rowrun, on a database that the
// benchmark gives it. A module of its own, so that none of them enters Rowrun's dependencies. The folder graphile does
// the same for a peer that is written in JavaScript, with the same words.
//
//	DATABASE_URL=… peers PEER ACTION NUMBER…
//
// PEER is river-tuned (the settings of its own benchmark), river-defaults, river-quick (the defaults with a cooldown of
// 2 ms) or river-ten (the defaults with 10 workers). The actions:
//
//	fill JOBS            makes the peer's schema where it is missing, empties it and inserts JOBS jobs that do nothing
//	add JOBS             inserts JOBS more
//	drain JOBS           lets one client work them off: from the client's start to the last job that it reports as recorded
//	burst JOBS           starts a client, waits a second and inserts JOBS jobs at once: from then to the last job recorded
//	starts RATE SECONDS  inserts RATE single jobs a second into an idle client, the first second to warm up: how long each
//	                     took from just before its insert to the first line of its worker
//	due RATE SECONDS     inserts jobs that are due later, RATE a second: how long after that the first line of each ran
//
// All but the first two print one line of JSON, a result. They fail where a job did not complete.
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
	"strings"
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
	// DelaysMS are those of the single jobs, in ms.
	DelaysMS []float64 `json:"delays_ms,omitempty"`
}

const (
	// connections is the most that a peer's pool holds: as many as Rowrun's pool has by default.
	connections = 10
	// patience bounds one round.
	patience = 20 * time.Minute
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
	settings, act, numbers, err := parse(args)
	if err != nil {
		return err
	}
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		return errors.New("DATABASE_URL is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := openRiver(ctx, url, settings)
	if err != nil {
		return err
	}
	defer p.pool.Close()
	got, err := act(p, ctx, numbers)
	if err != nil || got == nil {
		return err
	}
	got.Peer, got.Version, got.Settings = "River", version("github.com/riverqueue/river"), settings.String()
	return json.NewEncoder(os.Stdout).Encode(got)
}

// action is what is asked of a peer; no result: there is nothing to print.
type action func(p *peer, ctx context.Context, numbers []int) (*result, error) //nolint:revive // a method's receiver comes first

func parse(args []string) (s riverSettings, act action, numbers []int, err error) {
	if len(args) < 2 {
		return s, nil, nil, errors.New("usage: peers PEER ACTION NUMBER…")
	}
	switch args[0] {
	case "river-tuned":
		s = riverTuned()
	case "river-quick":
		s = riverQuick()
	case "river-defaults":
		s = riverDefaults(100)
	case "river-ten":
		s = riverDefaults(10)
	default:
		return s, nil, nil, fmt.Errorf("%q is not a peer; known: river-tuned, river-quick, river-defaults, river-ten", args[0])
	}
	words := []string{"JOBS"}
	switch args[1] {
	case "fill":
		act = (*peer).fill
	case "add":
		act = (*peer).add
	case "drain":
		act = (*peer).drain
	case "burst":
		act = (*peer).burst
	case "starts":
		act, words = (*peer).starts, []string{"RATE", "SECONDS"}
	case "due":
		act, words = (*peer).due, []string{"RATE", "SECONDS"}
	default:
		return s, nil, nil, fmt.Errorf("%q is not known; known: fill, add, drain, burst, starts, due", args[1])
	}
	if len(args)-2 != len(words) {
		return s, nil, nil, fmt.Errorf("usage: peers PEER %s %s", args[1], strings.Join(words, " "))
	}
	for i, word := range words {
		n, err := strconv.Atoi(args[2+i])
		if err != nil || n < 1 {
			return s, nil, nil, fmt.Errorf("%s: %q is not a number above 0", word, args[2+i])
		}
		numbers = append(numbers, n)
	}
	return s, act, numbers, nil
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
