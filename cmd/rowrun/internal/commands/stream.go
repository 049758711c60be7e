package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// streamConfig is what `rowrun stream` is told.
type streamConfig struct {
	Database  database.Config
	Since     time.Duration
	From      string // a place in the log; "": none
	UntilIdle bool
	Format    string
	Filter    lineFilter
	Replica   string                 // "": from the database
	HTTPToken string                 // resolved by validate
	wants     func(line []byte) bool // nil: every line
	events    *url.URL               // of the replica; nil: from the database
}

func (c *streamConfig) register(flags *pflag.FlagSet) {
	c.Database.Register(flags)
	flags.DurationVar(&c.Since, "since", 0, "first show what the runs still tell of this `time` before now, such as 10m; reads the whole table of runs once")
	flags.StringVar(&c.From, "from", "", "first show what the runs tell of what came since this `LSN`, a place that a line named in \"lsn\"; behind a stream.gap line, as rows know no places; with --replica from its history")
	flags.StringVar(&c.Replica, "replica", "", "read from the /events of the replica at this `URL`, such as http://127.0.0.1:8484, instead of the database")
	flags.StringVar(&c.HTTPToken, "http-token", "", "bearer token for --replica: `env:NAME or file:PATH`")
	flags.BoolVar(&c.UntilIdle, "until-idle", false, "end when nothing came for a second and no run, of those that are filtered out neither, is AVAILABLE, RUNNING, or PENDING and due")
	c.Filter.register(flags)
	cli.Choice(flags, &c.Format, "format", "json", "form of the lines; text is for people, and the default at a terminal", "json", "text")
}

func (c *streamConfig) validate(lookup func(string) (string, bool)) error {
	if c.Since < 0 {
		return cli.Usagef("--since: %s is not accepted; accepted: a duration such as 10m, or 0 for none", c.Since)
	}
	if c.From != "" {
		if c.Since > 0 {
			return cli.Usagef("--from and --since: only one of them says where to begin")
		}
		if _, err := events.ParseLSN(c.From); err != nil && c.Replica == "" {
			return cli.Usagef("--from: %q is not accepted; accepted: a place such as 16/B374D848", c.From)
		}
	}
	var err error
	unknown := int64(0)
	if c.Replica == "" && c.Filter.planName() != "" {
		unknown = 1 // found later, by its name
	}
	if c.wants, err = c.Filter.parse(unknown); err != nil {
		return err
	}
	if c.HTTPToken, err = cli.ResolveToken("--http-token", c.HTTPToken, lookup); err != nil {
		return err
	}
	if c.Replica != "" {
		if c.Since > 0 || c.UntilIdle {
			return cli.Usagef("--replica: a replica keeps its last lines only; accepted without --since and --until-idle")
		}
		c.events, err = eventsURL(c.Replica, &c.Filter)
		return err
	}
	return c.Database.Resolve(lookup)
}

func newStream(env cli.Environment) *cobra.Command {
	var config streamConfig
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Show each change of status as it is committed, one line each",
		Long: "Shows each change of status as it is committed, one line each: the stream that one replica writes, anywhere.\n" +
			"Any number of watchers costs the replicas nothing. Where lines may be missing (this command's connection was\n" +
			"lost), a line with the event stream.gap says so.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.validate(env.Lookup); err != nil {
				return err
			}
			if !cmd.Flags().Changed("format") && cli.IsTerminal(cmd.OutOrStdout()) {
				config.Format = "text"
			}
			// A reader that has gone (| head) is no failure: the write says so instead of killing this process.
			signal.Ignore(syscall.SIGPIPE)
			log := (&cli.LogConfig{Level: "warn", Format: "console"}).Logger(cmd.ErrOrStderr())
			return showStream(cmd.Context(), &config, cmd.OutOrStdout(), log)
		},
	}
	config.register(cmd.Flags())
	cmd.AddCommand(newStreamDropSlot(env))
	return cmd
}

// showStream prints until ctx ends, nobody reads any more, or all is idle where
// that was asked for; all of these are clean ends.
func showStream(ctx context.Context, c *streamConfig, out io.Writer, log zerolog.Logger) error {
	lines := stream.NewOutput(out, math.MaxInt64) // who reads may take as long as he likes
	defer context.AfterFunc(ctx, func() { lines.Bound(time.Now()) })()
	err := printStream(ctx, c, stream.PrinterConfig{Out: lines, Text: c.Format == "text", Color: cli.InColor(out)}, log)
	if errors.Is(err, stream.ErrOutput) && (errors.Is(err, syscall.EPIPE) || ctx.Err() != nil) {
		return nil
	}
	return err
}

func printStream(ctx context.Context, c *streamConfig, lines stream.PrinterConfig, log zerolog.Logger) error {
	if c.events != nil {
		printer, err := stream.NewPrinter(lines)
		if err != nil {
			return err
		}
		return copyReplica(ctx, c, printer, log)
	}
	opened, listener, hub, err := watch(ctx, c, log)
	if err != nil {
		return cli.Stopped(ctx, err)
	}
	defer opened.Close()
	if name := c.Filter.planName(); name != "" {
		found, err := opened.PlansNamed(ctx, name, maxNamed)
		plan, err := theOne(ctx, opened, planRow, name, found, err)
		if err != nil {
			return cli.Stopped(ctx, err)
		}
		if c.wants, err = c.Filter.parse(plan); err != nil {
			return err
		}
	}
	lines.Wants = c.wants
	printer, err := stream.NewPrinter(lines)
	if err != nil {
		return err
	}
	from, gap, err := c.begin(ctx, opened)
	if err != nil {
		return cli.Stopped(ctx, err)
	}
	reader, err := stream.New(stream.Config{
		From: from, Gap: gap,
		Store: opened, Hub: hub, Connected: listener.Connected, Printer: printer, Log: log,
		Since: c.Since, UntilIdle: c.UntilIdle,
	})
	if err != nil {
		return err
	}
	defer reader.Close()

	listening, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error { return listener.Run(listening) })
	err = reader.Run(ctx)
	stop()
	return errors.Join(err, group.Wait())
}

// watch looks whether the stream can be read here, and makes a listener of this
// command's own, which is not started yet.
func watch(ctx context.Context, c *streamConfig, log zerolog.Logger) (*store.Store, *events.Listener, *events.Hub, error) {
	if err := connect.Wait(ctx, c.Database.DirectURL, c.Database.Source, database.PromptPatience, log); err != nil {
		return nil, nil, nil, err
	}
	config, err := connect.Parse(c.Database.DirectURL)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := probe(ctx, config, c.Database.DirectURL); err != nil {
		return nil, nil, nil, err
	}
	hub := events.NewHub()
	listener, err := events.NewListener(events.ListenConfig{
		ConnConfig: config, Channel: store.Channel, Hub: hub, Log: log, AppName: "rowrun stream",
	})
	if err != nil {
		return nil, nil, nil, err
	}
	opened, err := store.Open(ctx, store.Config{URL: c.Database.DirectURL, AppName: "rowrun stream", MaxConns: 2})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := connect.CheckSchema(ctx, opened); err != nil {
		opened.Close()
		return nil, nil, nil, err
	}
	return opened, listener, hub, nil
}

// probe refuses a way to the database on which notifications don't arrive.
func probe(ctx context.Context, config *pgx.ConnConfig, url string) error {
	err := events.ProbeListen(ctx, config)
	if errors.Is(err, events.ErrNoNotify) {
		return fmt.Errorf("%s: notifications do not arrive there, it is most likely a pooler in transaction mode: "+
			"set --direct-url to the server itself", connect.Place(url))
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: listen: %s", connect.Place(url), connect.Diagnose(err).Text)
	}
	return err
}
