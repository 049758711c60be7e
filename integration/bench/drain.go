package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// contender is who works jobs off in alternating rounds.
type contender struct {
	name string
	fill func(ctx context.Context, jobs int) error
	// drain returns how long it took and what the client used of the CPU, both in seconds.
	drain func(ctx context.Context, jobs int) (took, cpu float64, err error)
	// jobs of a round; 0: those of the others.
	jobs int

	rate, client, server []float64 // jobs/s, and CPU µs per job
}

// drain alternates: each round begins with an empty table, vacuumed as River's own benchmark does, NOOP runs inserted
// beforehand, statistics and a checkpoint. Rowrun's time is from the replica's registration to the last end, by the
// rows; River's from its client's start to the last job that it reports completed.
func (b *bench) drain(ctx context.Context) error {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	ours, err := b.newDatabase(ctx, s, "rowrun", true)
	if err != nil {
		return err
	}
	defer ours.close()
	theirs, err := b.newDatabase(ctx, s, "river", false)
	if err != nil {
		return err
	}
	defer theirs.close()

	tuned := b.river(theirs, "River, settings of its own benchmark", "river-tuned", 0)
	many := strconv.Itoa(riverWorkers)
	all := []*contender{
		b.noop(ours, "Rowrun, default flags, stream on"),
		tuned,
		b.noop(ours, "Rowrun, default flags, stream off", "--stream-source", "off"),
		b.noop(ours, "Rowrun, --concurrency "+many+", stream on", "--concurrency", many),
		b.noop(ours, "Rowrun, --concurrency "+many+", stream off", "--concurrency", many, "--stream-source", "off"),
		b.river(theirs, "River, defaults", "river-defaults", b.scale(3000, 20_000)),
	}
	jobs, rounds := b.scale(30_000, 100_000), b.scale(3, 5)
	for range rounds {
		for _, c := range all {
			if err := c.play(ctx, s, jobs); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	b.table.row(fmt.Sprintf("%d NOOP runs, medians of %d rounds", jobs, rounds), "jobs/s (least to most); CPU per job: client, server", "")
	for _, c := range all {
		goal := ""
		if strings.HasPrefix(c.name, "Rowrun") {
			goal = "≥ 0.70 × River"
		}
		b.table.row(c.name, fmt.Sprintf("%.0f (%.0f to %.0f); %.0f µs, %.0f µs; %.2f × River tuned", median(c.rate),
			percentile(c.rate, 0), percentile(c.rate, 100), median(c.client), median(c.server), median(c.rate)/median(tuned.rate)), goal)
	}
	return nil
}

// play is one round.
func (c *contender) play(ctx context.Context, s *server, jobs int) error {
	if c.jobs > 0 {
		jobs = c.jobs
	}
	if err := c.fill(ctx, jobs); err != nil {
		return err
	}
	before, err := serverSeconds(s.PID())
	if err != nil {
		return err
	}
	took, cpu, err := c.drain(ctx, jobs)
	if err != nil {
		return err
	}
	after, err := serverSeconds(s.PID())
	if err != nil {
		return err
	}
	c.rate = append(c.rate, float64(jobs)/took)
	c.client = append(c.client, cpu/float64(jobs)*1e6)
	c.server = append(c.server, (after-before)/float64(jobs)*1e6)
	return nil
}
