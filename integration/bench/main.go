// Command bench measures what docs/benchmarks.md lists, on a private PostgreSQL with durable commits, with the real
// binary as processes of their own and SQL. It asserts no time; it fails where work was lost.
//
//	bench -rowrun bin/rowrun -peers bin/peers [-full] [-only latency,successor,drain,blocked,others,stream,idle,schedules,plans]
//
// Each section starts its own server and removes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bench is what the sections share.
type bench struct {
	rowrun, peers string // binaries
	dir           string // of this invocation, removed at its end
	full          bool
	table         table
}

type section struct {
	name, about string
	run         func(*bench, context.Context) error
}

func sections() []section {
	return []section{
		{"latency", "insert to start on an idle replica", (*bench).latency},
		{"successor", "a run ends on one replica, its successor starts on another", (*bench).successor},
		{"drain", "runs inserted beforehand, one replica, against River in alternating rounds", (*bench).drain},
		{"blocked", "one promote pass and one end beside many blocked runs", (*bench).blocked},
		{"others", "the same work with and without many runs of a type that nobody has", (*bench).others},
		{"stream", "from a commit to its line, and what waking costs those who insert", (*bench).stream},
		{"idle", "a replica without work", (*bench).idle},
		{"schedules", "recurring tasks that are due in the same second", (*bench).schedules},
		{"plans", "what a plan adds to its runs, a look at one, and how soon its end is told", (*bench).plans},
	}
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
	flag.BoolVar(&b.full, "full", false, "full sizes")
	only := flag.String("only", "", "`sections`, separated by commas; default all")
	flag.Parse()
	if b.rowrun == "" || b.peers == "" {
		return errors.New("-rowrun and -peers are required")
	}
	chosen, err := choose(*only)
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

func choose(only string) ([]section, error) {
	all := sections()
	if strings.TrimSpace(only) == "" {
		return all, nil
	}
	var chosen []section
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(s section) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("-only: %q is not accepted; accepted: latency, successor, drain, blocked, others, stream, idle, schedules, plans", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (b *bench) runSection(ctx context.Context, s section) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.scale(10, 120))*time.Minute)
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

// scale is a count for a run of some minutes, or the full one.
func (b *bench) scale(scaled, full int) int {
	if b.full {
		return full
	}
	return scaled
}
