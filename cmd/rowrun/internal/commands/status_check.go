package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// figure is one of the deployment's health that a monitoring system keeps and is warned of.
type figure struct {
	flag, usage string
	defaults    string
	label, unit string // of the performance data
	says        string // a sentence with the value
	least       bool   // too little is the problem
	value       func(store.Health) float64
}

// figures are in the order of the performance data.
func figures() []figure {
	seconds := func(of func(store.Health) time.Duration) func(store.Health) float64 {
		return func(h store.Health) float64 { return of(h).Truncate(time.Second).Seconds() }
	}
	return []figure{
		{
			"min-replicas", "live replicas", "1", "replicas", "", "%s live replicas", true,
			func(h store.Health) float64 { return float64(h.LiveReplicas) },
		},
		{
			"max-oldest-available", "how long the oldest AVAILABLE run has waited for a replica", "1m,5m", "oldest_age", "s", "a run has been AVAILABLE for %s", false,
			seconds(func(h store.Health) time.Duration { return h.OldestAvailable }),
		},
		{
			"max-overdue", "for how long a PENDING run has been due that no replica has looked at", "1m,5m", "overdue_age", "s", "a run has been due for %s, and nobody has looked at it", false,
			seconds(func(h store.Health) time.Duration { return h.OverdueFor }),
		},
		{
			"max-stale", "RUNNING runs of replicas and workers whose lease is over", "0,", "stale", "", "%s RUNNING runs belong to replicas that are gone", false,
			func(h store.Health) float64 { return float64(h.Stale) },
		},
		{
			"max-orphans", "runs that no live replica could run, as last counted by one", "0,", "orphans", "", "%s runs wait that no live replica can run", false,
			func(h store.Health) float64 { return float64(h.Orphans) },
		},
		{
			"max-delivery-age", "how long a webhook's delivery has waited, those of disabled webhooks aside", "15m,", "delivery_age", "s", "a webhook's delivery has waited for %s", false,
			seconds(func(h store.Health) time.Duration {
				return max(h.OldestDelivery["due"], h.OldestDelivery["refused"], h.OldestDelivery["unready"])
			}),
		},
		{
			"max-missed-schedules", "schedules with a tick that should have started over a minute ago", "0,", "missed_schedules", "", "%s schedules missed their time", false,
			func(h store.Health) float64 { return float64(h.MissedSchedules) },
		},
		{
			"max-stopped-schedules", "schedules that have paused themselves", "0,", "stopped_schedules", "", "%s schedules have paused themselves", false,
			func(h store.Health) float64 { return float64(h.StoppedSchedules) },
		},
	}
}

// checkup is `rowrun status --check`: status as a monitoring plug-in.
type checkup struct {
	on     bool
	limits []*thresholds // of figures()
}

func (u *checkup) register(flags *pflag.FlagSet) {
	flags.BoolVar(&u.on, "check", false, "answer a monitoring system: one line with performance data, exit code 0, 1, 2 or 3")
	for _, m := range figures() {
		limit := &thresholds{ages: m.unit == "s", least: m.least}
		if err := limit.Set(m.defaults); err != nil {
			panic(m.flag + ": " + err.Error()) // a programmer's
		}
		u.limits = append(u.limits, limit)
		flags.Var(limit, m.flag, "for --check: "+m.usage)
		flags.Lookup(m.flag).DefValue = m.defaults
	}
}

// run says the line and returns its verdict.
func (u *checkup) run(cmd *cobra.Command, c *client) error {
	if cmd.Flags().Changed("watch") {
		return cli.Usagef("--watch: is not accepted with --check, which a monitoring system repeats")
	}
	if err := c.resolve(); err != nil {
		return err
	}
	code, text, performance := u.judge(cmd.Context(), c)
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), cli.PlugInLine(code, text, performance)); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if code == cli.PlugInOK {
		return nil
	}
	return &cli.Verdict{Code: code}
}

// judge asks the database. One that can't be reached, or takes no writes, is critical: nothing runs. What can't be told is
// unknown: a schema of another version, a role that may not read.
func (u *checkup) judge(ctx context.Context, c *client) (code int, text, performance string) {
	// Nothing but the line is said: no log.
	if err := connect.Wait(ctx, c.database.DirectURL, c.database.Source, c.patience, zerolog.Nop()); err != nil {
		return cli.PlugInCritical, err.Error(), ""
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	s, err := store.Open(ctx, store.Config{URL: c.database.DirectURL, MaxConns: 1})
	if err != nil {
		return cli.PlugInCritical, "the database: " + connect.Diagnose(err).Text, ""
	}
	defer s.Close()
	err = connect.CheckSchema(ctx, s)
	switch {
	case errors.Is(err, connect.ErrAway):
		return cli.PlugInCritical, err.Error(), ""
	case err != nil:
		return cli.PlugInUnknown, err.Error(), ""
	}
	health, err := s.Health(ctx)
	switch {
	case store.SQLState(err) == "42501":
		return cli.PlugInUnknown, "the role may not read rowrun.health: grant it rowrun_viewer", ""
	case err != nil:
		return cli.PlugInCritical, "the database: " + connect.Diagnose(err).Text, ""
	}
	code, text, performance = u.hold(health)
	if err := s.TakesWrites(ctx); err != nil {
		return cli.PlugInCritical, err.Error() + "; " + text, performance
	}
	return code, text, performance
}

// hold holds the figures against their thresholds.
func (u *checkup) hold(health store.Health) (code int, text, performance string) {
	var critical, warning, all []string
	for i, m := range figures() {
		limit, value := u.limits[i], m.value(health)
		shown := amount(value)
		if limit.ages {
			shown = (time.Duration(value) * time.Second).String()
		}
		say := func(word string, s *span) string { return fmt.Sprintf(m.says+" (%s: %s)", shown, word, s) }
		switch {
		case limit.critical != nil && limit.critical.bad(value):
			critical = append(critical, say("critical", limit.critical))
		case limit.warning != nil && limit.warning.bad(value):
			warning = append(warning, say("warning", limit.warning))
		}
		all = append(all, fmt.Sprintf("'%s'=%s%s;%s;%s;0", m.label, amount(value), m.unit, limit.end(limit.warning), limit.end(limit.critical)))
	}
	performance = strings.Join(all, " ")
	switch problems := strings.Join(append(critical, warning...), "; "); {
	case len(critical) > 0:
		return cli.PlugInCritical, problems, performance
	case len(warning) > 0:
		return cli.PlugInWarning, problems, performance
	}
	return cli.PlugInOK, fmt.Sprintf("%d live replicas, oldest AVAILABLE run %s, %d stale, %d overdue",
		health.LiveReplicas, health.OldestAvailable.Truncate(time.Second), health.Stale, health.Overdue), performance
}
