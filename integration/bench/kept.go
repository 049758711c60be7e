package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// kept works backlogs off in alternating rounds: in tables that were just emptied, in tables that keep what ended, and in
// tables of which an old snapshot keeps every dead row. What is kept has really been through; nothing is vacuumed but as
// in all drains, once after the inserts.
func (b *bench) kept(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		fresh, err := b.pair(ctx, s, "fresh")
		if err != nil {
			return err
		}
		for _, half := range []struct {
			name    string
			measure func(context.Context, *server, couple) error
		}{{"ended", b.besideEnded}, {"snapshot", b.underSnapshot}} {
			if !strings.Contains(half.name, b.shape) {
				continue
			}
			if err := half.measure(ctx, s, fresh); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) besideEnded(ctx context.Context, s *server, fresh couple) error {
	finished, jobs, rounds := b.scale(100_000, 1_000_000), b.scale(15_000, 100_000), b.scale(3, 5)
	full, err := b.pair(ctx, s, "kept")
	if err != nil {
		return err
	}
	if err := alternate(ctx, s, 1, finished, full.adding(b, "history")); err != nil {
		return err
	}
	base, beside := fresh.emptied(b), full.adding(b, fmt.Sprintf("beside %d that ended", finished))
	if err := alternate(ctx, s, rounds, jobs, append(base, beside...)); err != nil {
		return err
	}
	b.compare(rounds, jobs, base, beside, "≥ 0.90 × fresh")
	return nil
}

func (b *bench) underSnapshot(ctx context.Context, s *server, fresh couple) error {
	jobs, rounds := b.scale(15_000, 100_000), b.scale(3, 5)
	pinned, err := b.pair(ctx, s, "pinned")
	if err != nil {
		return err
	}
	if err := pinned.hold(ctx, s); err != nil {
		return err
	}
	held := time.Now()
	for once := true; once || time.Since(held) < time.Duration(b.scale(0, 10))*time.Minute; once = false {
		if err := alternate(ctx, s, 1, jobs, pinned.adding(b, "work while it is held")); err != nil {
			return err
		}
	}
	base, beside := fresh.emptied(b), pinned.adding(b, fmt.Sprintf("a snapshot held for %s", time.Since(held).Round(time.Second)))
	if err := alternate(ctx, s, rounds, jobs, append(base, beside...)); err != nil {
		return err
	}
	b.compare(rounds, jobs, base, beside, "≥ 0.70 × fresh")
	return nil
}

// compare shows each contender's rate beside its own with fresh tables; the goal is Rowrun's.
func (b *bench) compare(rounds, jobs int, base, beside []*contender, goal string) {
	b.table.rates(rounds, jobs, append(base[:len(base):len(base)], beside...))
	for i, c := range beside {
		b.table.row(c.name, fmt.Sprintf("%.2f × fresh", measure.Median(c.rate)/measure.Median(base[i].rate)), goal)
		goal = ""
	}
}

// couple is a database of Rowrun and one of River's.
type couple struct{ ours, theirs *database }

func (b *bench) pair(ctx context.Context, s *server, name string) (c couple, err error) {
	if c.ours, err = b.database(ctx, s, "rowrun_"+name, true); err != nil {
		return c, err
	}
	c.theirs, err = b.database(ctx, s, "river_"+name, false)
	return c, err
}

func (c couple) emptied(b *bench) []*contender {
	return []*contender{
		b.noop(c.ours, "Rowrun, fresh", "--concurrency", strconv.Itoa(riverWorkers)),
		b.river(c.theirs, "River tuned, fresh", "river-tuned"),
	}
}

func (c couple) adding(b *bench, what string) []*contender {
	return []*contender{
		b.more(c.ours, "Rowrun, "+what, noopRuns, "--concurrency", strconv.Itoa(riverWorkers)),
		b.riverPeer(c.theirs, "river-tuned").contender("River tuned, "+what, "add", "drain"),
	}
}

// hold opens a transaction that sees both databases as they are now, until the server stops.
func (c couple) hold(ctx context.Context, s *server) error {
	for _, d := range []*database{c.ours, c.theirs} {
		pin, err := s.connect(ctx, d)
		if err != nil {
			return err
		}
		if err := pin.do(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM pg_class"); err != nil {
			return err
		}
	}
	return nil
}
