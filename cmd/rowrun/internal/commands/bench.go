package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/bench"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newBench(env cli.Environment) *cobra.Command {
	c := benchCommand{client: newClient(env), version: env.Version}
	cmd := &cobra.Command{
		Use:   "bench [MEASUREMENT…]",
		Short: "Measure Rowrun in this database, and remove what that took",
		Long: "Starts replicas of its own, has them run NOOPs, and shows what that took. Without a measurement: all of them, two\n" +
			"to three minutes with the default sizes. Measurements: " + strings.Join(bench.Names(), ", ") + ".\n\n" +
			"Tasks, plans, queue, replicas and a schema are named rowrun_bench_ and a random number, and are removed at the end,\n" +
			"also after Ctrl-C; after a crash `rowrun bench --clean` does it. Rows of others are not touched. It refuses to run\n" +
			"beside live replicas and unfinished runs of others, unless --yes says that they may share the work. The role must\n" +
			"own Rowrun's tables. See \"How fast is it here?\" in docs/operations.md.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.register(cmd.Flags())
	flags := cmd.Flags()
	flags.IntVar(&c.config.Runs, "runs", 2000, "how many runs drain, gated and pinned take")
	flags.IntVar(&c.config.Rate, "rate", 100, "how many runs a second steady, late and bystander have")
	flags.DurationVar(&c.config.Duration, "duration", 1500*time.Millisecond, "how long a round of steady, late, insert and bystander is; idle takes five times that")
	flags.IntVar(&c.config.Writers, "writers", 8, "connections of insert and bystander")
	flags.IntVar(&c.config.Replicas, "replicas", 1, "replicas of steady, besides one alone")
	flags.IntVar(&c.config.Rounds, "rounds", 3, "how often each figure is taken; the median counts")
	flags.IntVar(&c.config.Concurrency, "concurrency", 20, "--concurrency of the replicas")
	cli.List(flags, &c.config.Shapes, "shape", bench.Shapes(), "what drain runs: plain; databases (versions on 100); plans (10 with a limit of 20); chain (versions on 10 databases)")
	flags.BoolVar(&c.config.Yes, "yes", false, "measure beside live replicas and unfinished runs of others")
	flags.BoolVar(&c.clean, "clean", false, "only remove what one that was killed has left")
	return cmd
}

// benchCommand measures or cleans.
type benchCommand struct {
	client
	config  bench.Config
	clean   bool
	version string
	shown   *cli.Progress
}

func (c *benchCommand) run(cmd *cobra.Command, args []string) error {
	if c.clean && len(args) > 0 {
		return cli.Usagef("--clean measures nothing; accepted: no arguments")
	}
	if err := c.complete(cmd, args); err != nil {
		return err
	}
	b, err := bench.New(c.config)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if err := c.ask(cmd, func(context.Context, *store.Store) error { return nil }); err != nil {
		return err
	}
	if c.clean {
		return c.tidy(cmd)
	}
	stop := c.shown.Ticking()
	report, err := b.Run(cmd.Context())
	stop()
	if err != nil {
		return lost(cmd, err, "rowrun bench --clean")
	}
	if c.out.Document() {
		return c.out.Write(cmd, report, cli.Table{})
	}
	return nil
}

// complete puts together what the bench is told.
func (c *benchCommand) complete(cmd *cobra.Command, args []string) error {
	if err := c.database.Resolve(c.lookup); err != nil {
		return err
	}
	if len(c.config.Shapes) == 0 {
		return cli.Usagef("--shape: is empty; accepted: %s", strings.Join(bench.Shapes(), ", "))
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	for _, name := range args {
		if !slices.Contains(bench.Names(), name) {
			return cli.Usagef("%q can't be measured; accepted: %s%s", name, strings.Join(bench.Names(), ", "), cli.DidYouMean(name, bench.Names()))
		}
	}
	c.config.Measurements = args
	c.config.URL, c.config.DirectURL = c.database.URL, c.database.DirectURL
	c.config.Program, c.config.Version = program, c.version
	c.config.Log = c.log.ForPerson(cmd)
	c.shown = cli.NewProgress(cmd.ErrOrStderr(), c.lookup)
	c.show(cmd.OutOrStdout(), args)
	return nil
}

// show has each measurement written when it is over, and how far the bench is while it goes on.
func (c *benchCommand) show(out io.Writer, names []string) {
	if len(names) == 0 {
		names = bench.Names()
	}
	done := 0
	next := func() {
		if done < len(names) {
			c.shown.Show(float64(done)/float64(len(names)), fmt.Sprintf("measurement %d of %d", done+1, len(names)))
		}
	}
	c.config.Introduced = func(report bench.Report) error {
		defer next()
		if c.out.Document() {
			return nil
		}
		return report.Introduce(out)
	}
	c.config.Each = func(m bench.Measurement) error {
		defer next()
		done++
		c.shown.Clear()
		if c.out.Document() {
			return nil
		}
		return m.Write(out)
	}
}

func (c *benchCommand) tidy(cmd *cobra.Command) error {
	names, err := bench.Clean(cmd.Context(), c.config)
	if err != nil {
		return lost(cmd, err, "rowrun bench --clean")
	}
	return c.answerRemoved(cmd, names)
}
