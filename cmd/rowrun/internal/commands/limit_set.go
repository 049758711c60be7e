package commands

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// none takes back what a limit says.
const none = "none"

// limitFlags are the columns of a limit as flags.
type limitFlags struct {
	kind, queue, key, maxRunning, rate, burst, notBefore, share string
	weights                                                     []string
}

func (f *limitFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "type", "", "only runs of this `type`; none: of any")
	flags.StringVar(&f.queue, "queue", "", "only runs of this `queue`; none: of any")
	flags.StringVar(&f.key, "key", "", "`path` into the payload with the input laid over it, such as tenant or customer.id: one limit for each value; none: one for all")
	flags.StringVar(&f.maxRunning, "max-running", "", "most runs AVAILABLE or RUNNING at once, a whole `number` from 0; none: no such limit")
	flags.StringVar(&f.rate, "rate", "", "how many may start in a time, as `100/1m`; none: any number")
	flags.StringVar(&f.burst, "burst", "", "how many may start at once after a quiet time, a whole `number` from 1; none: as many as the rate")
	flags.StringVar(&f.share, "share", "", "`fair`: its keys take turns for the slots of replicas, by weight; none: the order of priority and time alone")
	flags.StringArrayVar(&f.weights, "weight", nil, "weight of a key where they share, as `KEY=N` from 1 to 1000, repeatable; 1 of those that aren't named; none: of all")
	flags.StringVar(&f.notBefore, "not-before", "", "start none of its runs before this `moment`, as 2h or 2026-11-23T18:00:00Z; none: it isn't paused")
}

// change is what the flags say that were given.
func (f *limitFlags) change(cmd *cobra.Command) (c store.LimitChange, err error) {
	// given says whether a flag has a value, and notes where that is none.
	given := func(flag, value, column string) bool {
		if !cmd.Flags().Changed(flag) || value == "" {
			return false
		}
		if value == none {
			c.Clear = append(c.Clear, column)
			return false
		}
		return true
	}
	if given("type", f.kind, "type") {
		c.Type = &f.kind
	}
	if given("queue", f.queue, "queue") {
		c.Queue = &f.queue
	}
	if given("key", f.key, "key_path") {
		c.KeyPath = strings.Split(f.key, ".")
	}
	if given("max-running", f.maxRunning, "max_running") {
		if c.MaxRunning, err = limitNumber("max-running", f.maxRunning, 0); err != nil {
			return c, err
		}
	}
	if given("rate", f.rate, "rate") {
		if c.Rate, c.Per, err = parseRate(f.rate); err != nil {
			return c, err
		}
	}
	if given("burst", f.burst, "burst") {
		if c.Burst, err = limitNumber("burst", f.burst, 1); err != nil {
			return c, err
		}
	}
	if given("not-before", f.notBefore, "not_before") {
		at, delay, err := parseAt("--not-before", f.notBefore)
		if err != nil {
			return c, err
		}
		if at == nil {
			now := time.Now().Add(delay)
			at = &now
		}
		c.NotBefore = at
	}
	if err := f.shares(&c); err != nil {
		return c, err
	}
	return c, nil
}

// shares reads how keys share.
func (f *limitFlags) shares(c *store.LimitChange) error {
	if f.share != "" {
		share := strings.ToUpper(f.share)
		if share != "FAIR" && share != "NONE" {
			return cli.Usagef("--share: %q is not accepted; accepted: fair, none", f.share)
		}
		c.Share = &share
	}
	for _, text := range f.weights {
		if text == none {
			c.Clear = append(c.Clear, "weights")
			continue
		}
		at := strings.LastIndex(text, "=") // a key may hold one
		if at < 0 {
			return cli.Usagef("--weight: %q is not accepted; accepted: KEY=N, or none", text)
		}
		n, err := strconv.ParseFloat(text[at+1:], 64)
		if err != nil || !(n >= 1 && n <= 1000) {
			return cli.Usagef("--weight: %q is not accepted; accepted: KEY=N with a number from 1 to 1000, or none", text)
		}
		if c.Weights == nil {
			c.Weights = map[string]float64{}
		}
		c.Weights[text[:at]] = n
	}
	return nil
}

func limitNumber(flag, text string, least int) (*int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int(n) < least {
		return nil, cli.Usagef("--%s: %q is not accepted; accepted: a whole number from %d, or none", flag, text, least)
	}
	whole := int(n)
	return &whole, nil
}

// parseRate reads a rate: a number, and the time that it is for.
func parseRate(text string) (rate *int, per *time.Duration, err error) {
	number, unit, _ := strings.Cut(text, "/")
	if unit != "" && strings.Trim(unit, "0123456789.") == unit { // 100/s
		unit = "1" + unit
	}
	n, badNumber := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
	d, badTime := time.ParseDuration(strings.TrimSpace(unit))
	if badNumber != nil || badTime != nil || n < 1 || d < time.Millisecond {
		return nil, nil, cli.Usagef("--rate: %q is not accepted; accepted: a number and a time, such as 100/1m or 5/s, or none", text)
	}
	whole := int(n)
	return &whole, &d, nil
}
