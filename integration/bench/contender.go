package main

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// outcome is what one round of a contender measured. Peers print it as JSON.
type outcome struct {
	Peer     string `json:"peer"`
	Version  string `json:"version"`
	Settings string `json:"settings"`
	// Seconds is how long the jobs took, CPUSeconds what the client used of the CPU meanwhile.
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	// DelaysMS are those of single jobs, in ms.
	DelaysMS []float64 `json:"delays_ms"`
}

// about is whose settings these are, and the settings.
func (o outcome) about() string { return o.Peer + " " + o.Version + ": " + o.Settings }

// contender is who works jobs off in alternating rounds.
type contender struct {
	name string
	// fill inserts the jobs beforehand; nil: work does.
	fill func(ctx context.Context, jobs int) error
	work func(ctx context.Context, jobs int) (outcome, error)
	// jobs of a round; 0: those of the others.
	jobs int
	// goal of its rate, "" where there is none.
	goal string

	about                string
	rate, client, server []float64 // jobs/s, and CPU µs per job
	delays               []float64 // of single jobs of all rounds, in ms
}

// alternate lets all of them play so many rounds, one after the other.
func alternate(ctx context.Context, s *server, rounds, jobs int, all []*contender) error {
	for range rounds {
		for _, c := range all {
			if err := c.play(ctx, s, jobs); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// play is one round.
func (c *contender) play(ctx context.Context, s *server, jobs int) error {
	if c.jobs > 0 {
		jobs = c.jobs
	}
	if c.fill != nil {
		if err := c.fill(ctx, jobs); err != nil {
			return err
		}
	}
	before, err := measure.ServerSeconds(s.PID())
	if err != nil {
		return err
	}
	out, err := c.work(ctx, jobs)
	if err != nil {
		return err
	}
	after, err := measure.ServerSeconds(s.PID())
	if err != nil {
		return err
	}
	c.about = out.about()
	c.delays = append(c.delays, out.DelaysMS...)
	c.rate = append(c.rate, float64(jobs)/out.Seconds)
	c.client = append(c.client, out.CPUSeconds/float64(jobs)*1e6)
	c.server = append(c.server, (after-before)/float64(jobs)*1e6)
	return nil
}

// pace is the median of the rates, with the least and the most, beside the medians of others.
func (c *contender) pace(beside ...*contender) string {
	text := fmt.Sprintf("%.0f (%.0f to %.0f)", measure.Median(c.rate), measure.Percentile(c.rate, 0), measure.Percentile(c.rate, 100))
	for _, other := range beside {
		if other != c {
			text += fmt.Sprintf("; %.2f × %s", measure.Median(c.rate)/measure.Median(other.rate), other.name)
		}
	}
	return text
}

// rates shows the medians of all contenders, each beside those it is compared with, and then their settings.
func (t *table) rates(rounds, jobs int, all []*contender, beside ...*contender) {
	t.row(fmt.Sprintf("%d jobs, medians of %d rounds", jobs, rounds), "jobs/s (least to most); CPU per job: client, server", "")
	for _, c := range all {
		what := c.name
		if c.jobs > 0 {
			what += fmt.Sprintf(" (%d jobs)", c.jobs)
		}
		t.row(what, fmt.Sprintf("%s; CPU %.0f µs, %.0f µs", c.pace(beside...), measure.Median(c.client), measure.Median(c.server)), c.goal)
	}
	t.settings(all)
}

// delays shows how long single jobs took to start.
func (t *table) delays(what string, all []*contender) {
	for _, c := range all {
		t.row(fmt.Sprintf("%s: %s", what, c.name), spread(c.delays, 50, 95, 99), c.goal)
	}
	t.settings(all)
}

func (t *table) settings(all []*contender) {
	for _, c := range all {
		t.row("  "+c.name, c.about, "")
	}
}
