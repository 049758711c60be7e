// Command bench measures what docs/benchmarks.md lists, on a private PostgreSQL with durable commits, with the real
// binary as processes of their own and SQL. It asserts no time; it fails where work was lost.
//
//	bench -rowrun bin/rowrun -peers bin/peers [-graphile integration/peers/graphile] [-suite own|peers] [-full] [-only SECTION,…] [-shape NAME] [-before PATH] [-pending N] [-ended N]
//	bench -rowrun bin/rowrun -suite week [-days 7] [-day 24m]
//
// Each section starts its own server and removes it. The suite own is Rowrun alone but for one section, peers is the same
// work for Rowrun and its rivals in turns, week is one deployment for as long as it is told; that one fails where something grows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// bench is what the sections share.
type bench struct {
	rowrun, peers string // binaries
	graphile      string // integration/peers/graphile with its modules, "": without graphile-worker
	version       string // of Rowrun
	before        string // of section limits: another binary of Rowrun, "": none
	dir           string // of this invocation, removed at its end
	full          bool
	shape         string // of sections blocked and kept
	pending       int    // of section large: how many wait and have ended, 0: by -full
	ended         int
	days          int // of the suite week
	day           time.Duration
	table         table
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{table: table{out: os.Stdout}}
	flag.StringVar(&b.rowrun, "rowrun", "", "`path` of the binary that is measured")
	flag.StringVar(&b.peers, "peers", "", "`path` of integration/peers' binary")
	flag.StringVar(&b.graphile, "graphile", "", "`path` of integration/peers/graphile, its modules installed; default: without graphile-worker")
	flag.BoolVar(&b.full, "full", false, "full sizes")
	flag.StringVar(&b.shape, "shape", "", "of section blocked only shapes, of section kept only halves (ended, snapshot) whose `name` contains this")
	flag.StringVar(&b.before, "before", "", "`path` of another binary of Rowrun, which section limits measures too")
	flag.IntVar(&b.pending, "pending", 0, "of section large: how many runs wait; default 50,000, with -full 10,000,000")
	flag.IntVar(&b.ended, "ended", 0, "of section large: how many runs have ended; default 200,000, with -full 30,000,000")
	flag.IntVar(&b.days, "days", 7, "of suite week: how many days, 2 to 60")
	flag.DurationVar(&b.day, "day", 24*time.Minute, "of suite week: how long a simulated day takes, 5s to 24h")
	suite := flag.String("suite", ownSuite, "`name` of what is measured: own, peers or week")
	only := flag.String("only", "", "`sections` of the suite, separated by commas; default all")
	flag.Parse()
	if b.rowrun == "" || b.peers == "" && *suite != weekSuite {
		return errors.New("-rowrun and -peers are required")
	}
	if b.days < 2 || b.days > 60 || b.day < 5*time.Second || b.day > 24*time.Hour {
		return errors.New("-days: 2 to 60 are accepted, -day: 5s to 24h")
	}
	if *suite == peersSuite && b.graphile == "" {
		return errors.New("-suite peers: -graphile is required")
	}
	chosen, err := choose(*suite, *only)
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "rowrun-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	if err := os.Chmod(b.dir, 0o711); err != nil { //nolint:gosec // the server's user passes through
		return err
	}
	if err := b.introduce(ctx); err != nil {
		return err
	}
	for _, s := range chosen {
		if err := b.runSection(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *bench) runSection(ctx context.Context, s section) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.scale(10, 120))*time.Minute+b.length(s))
	defer cancel()
	begun := time.Now()
	if err := b.table.begin(s.name, s.about); err != nil {
		return err
	}
	if err := s.run(b, ctx); err != nil {
		return err
	}
	return b.table.end(time.Since(begun))
}

// length is what a section takes that goes on for a given time.
func (b *bench) length(s section) time.Duration {
	if s.name != "week" {
		return 0
	}
	return time.Duration(b.days) * b.day
}

// scale is a count for a run of some minutes, or the full one.
func (b *bench) scale(scaled, full int) int {
	if b.full {
		return full
	}
	return scaled
}
