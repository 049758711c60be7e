package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/drill"
	"github.com/rowrun/rowrun/store"
)

func newDrill(env cli.Environment) *cobra.Command {
	c := drillCommand{client: newClient(env)}
	c.config.Version = env.Version
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Have an outage on purpose, in a queue of its own, and write a report",
		Long: "Starts workers of its own, has them run jobs that do nothing, kills them, and looks from outside: how soon the loss is\n" +
			"noticed, what monitoring sees (rowrun.health, status --check, the endpoints of --metrics-url), whether the lost runs are\n" +
			"settled, and whether new workers finish the rest. Each step has a deadline, with its reason in the report. With the\n" +
			"default --lease it takes two to three minutes. With --by-hand a person stops and starts replicas instead.\n\n" +
			"Task, queue and workers are named rowrun_drill_ and a random number, and are removed at the end, also after Ctrl-C; after\n" +
			"a crash the next drill does it, or `rowrun drill --clean`. Rows of others are not touched. Exit code 0: every step was\n" +
			"passed; 1: one wasn't, or the drill could not be held. See docs/drill.md.",
		Example: "  rowrun drill --metrics-url http://worker-1:8484/metrics --report drill.md\n" +
			"  rowrun drill --lease 10s --stale-sweep-interval 5s --json\n" +
			"  rowrun drill --by-hand --drill-queue drill",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.register(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&c.config.ByHand, "by-hand", false, "have a person stop and start replicas that serve --drill-queue; at a terminal only")
	flags.StringVar(&c.config.Queue, "drill-queue", "", "`queue` of the drill, in which nobody else has work (default: one named like the drill)")
	flags.IntVar(&c.config.Workers, "workers", 2, "how many workers are lost, and how many come back")
	flags.IntVar(&c.config.Jobs, "jobs", 8, "how many runs there are; half of them have begun when the workers are killed")
	flags.DurationVar(&c.config.Lease, "lease", time.Minute, "lease of the drill's workers: --stale-after of yours")
	flags.DurationVar(&c.config.StaleSweep, "stale-sweep-interval", 30*time.Second, "how often to look for dead replicas")
	flags.DurationVar(&c.config.Slack, "slack", 15*time.Second, "what is added to each deadline, for slow machines and networks")
	flags.DurationVar(&c.config.Patience, "patience", 30*time.Minute, "how long people are waited for")
	cli.List(flags, &c.config.MetricsURLs, "metrics-url", nil, "/metrics of replicas, admins or exporters that must tell of the outage, separated by commas")
	flags.BoolVar(&c.config.Alone, "alone", false, "begin although no replica lives and others' work waits, which the drill's workers promote")
	flags.StringVar(&c.file, "report", "", "`file` for the report, Markdown, or JSON where its name ends so; one that isn't there yet")
	flags.BoolVar(&c.json, "json", false, "as --output json")
	flags.BoolVar(&c.clean, "clean", false, "only remove what one that was killed has left")
	cmd.AddCommand(newDrillWorker())
	return cmd
}

// newDrillWorker is what a drill starts. It has no flags: what it is told comes by its standard input.
func newDrillWorker() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Be a worker of a drill",
		Hidden: true,
		Args:   cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			logging := cli.LogConfig{Level: "warn"}
			return drill.Work(cmd.Context(), cmd.InOrStdin(), logging.Logger(cmd.ErrOrStderr()))
		},
	}
}

// drillCommand holds a drill or cleans up.
type drillCommand struct {
	client
	config      drill.Config
	file        string
	json, clean bool
}

func (c *drillCommand) run(cmd *cobra.Command) error {
	if err := c.complete(cmd); err != nil {
		return err
	}
	s, err := c.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	c.config.Health = s.Health
	c.config.Log = c.log.ForPerson(cmd)
	if c.clean {
		return c.tidy(cmd)
	}
	d, err := drill.New(c.config)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	file, err := c.create()
	if err != nil {
		return err
	}
	report, err := d.Run(cmd.Context())
	if err != nil {
		file.discard()
		return c.failed(cmd, err)
	}
	if err := file.write(report); err != nil {
		return err
	}
	if err := c.show(cmd, report); err != nil {
		return err
	}
	if !report.Passed {
		var failed []string
		for _, step := range report.Steps {
			if !step.Passed {
				failed = append(failed, step.Name)
			}
		}
		return errors.New("the drill was not passed: " + strings.Join(failed, ", "))
	}
	return nil
}

// complete puts together what the drill is told, and refuses what can't be held before anything is connected.
func (c *drillCommand) complete(cmd *cobra.Command) error {
	if c.clean {
		var beside string
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			if flag.Name == "by-hand" || flag.Name == "drill-queue" || flag.Name == "report" {
				beside = flag.Name
			}
		})
		if beside != "" {
			return cli.Usagef("--clean holds no drill; accepted: without --%s", beside)
		}
	}
	if c.json {
		if c.out.Format != "table" && c.out.Format != "json" {
			return cli.Usagef("--json and --output are two ways to say the same: give one of them")
		}
		c.out.Format = "json"
	}
	if c.config.ByHand && !cli.CanBeAsked(cmd.InOrStdin()) {
		return cli.Usagef("--by-hand asks a person, and the standard input is no terminal; accepted: at a terminal, or without --by-hand, with workers of the drill's own")
	}
	if err := c.resolve(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	c.config.URL, c.config.DirectURL = c.database.URL, c.database.DirectURL
	c.config.Program, c.config.Args = program, []string{"drill", "worker"}
	usual := checkup{}
	usual.register(pflag.NewFlagSet("", pflag.ContinueOnError))
	c.config.Check = func(h store.Health) (int, string) {
		code, text, _ := usual.hold(h)
		return code, text
	}
	say := func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), cli.Printable(text)) }
	c.config.Waiting = say
	c.config.Each = func(step drill.Step) {
		verdict := "passed"
		if !step.Passed {
			verdict = "FAILED"
		}
		say(fmt.Sprintf("%s: %s after %s (deadline %s): %s", step.Name, verdict, time.Duration(step.AfterMS)*time.Millisecond,
			time.Duration(step.WithinMS)*time.Millisecond, step.Found))
	}
	c.config.Ask = func(ctx context.Context, text string) error {
		say(text)
		say("press Enter when it is done")
		return entered(ctx, cmd.InOrStdin())
	}
	_, err = drill.New(c.withHealth())
	if err != nil {
		return cli.Usagef("%w", err)
	}
	return nil
}

// withHealth is the configuration with something in place of the database, which isn't asked for yet.
func (c *drillCommand) withHealth() drill.Config {
	config := c.config
	config.Health = func(context.Context) (store.Health, error) { return store.Health{}, nil }
	return config
}

// entered waits for a line. Its reader stays behind where ctx ends first, and so does the process soon.
func entered(ctx context.Context, stdin io.Reader) error {
	read := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(stdin).ReadBytes('\n')
		read <- err
	}()
	select {
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errors.New("nobody answered within --patience")
		}
		return ctx.Err()
	case err := <-read:
		if err != nil {
			return errors.New("the standard input ended before anybody answered")
		}
		return nil
	}
}

// reportFile is the file of --report; nil: none.
type reportFile struct{ *os.File }

// create makes the file before the drill begins: one that can't be written is found now. A report that was filed isn't
// written over.
func (c *drillCommand) create() (*reportFile, error) {
	if c.file == "" {
		return nil, nil
	}
	file, err := os.OpenFile(c.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, cli.Usagef("--report: %s is there already; accepted: a file that isn't", c.file)
	case err != nil:
		return nil, fmt.Errorf("--report: %w", err)
	}
	return &reportFile{file}, nil
}

func (f *reportFile) write(report drill.Report) error {
	if f == nil {
		return nil
	}
	var err error
	if strings.HasSuffix(f.Name(), ".json") {
		encoder := json.NewEncoder(f)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.Markdown(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// discard removes the file of a drill that came to no report.
func (f *reportFile) discard() {
	if f != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

func (c *drillCommand) show(cmd *cobra.Command, report drill.Report) error {
	switch {
	case c.out.Document():
		return c.out.Write(cmd, report, cli.Table{})
	case c.out.Format == "name":
		_, err := fmt.Fprintln(cmd.OutOrStdout(), report.Drill)
		return err
	}
	if err := report.Markdown(cmd.OutOrStdout()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func (c *drillCommand) tidy(cmd *cobra.Command) error {
	names, err := drill.Clean(cmd.Context(), c.config)
	if err != nil {
		return c.failed(cmd, err)
	}
	return c.answerRemoved(cmd, names)
}

// failed puts what went wrong into words.
func (c *drillCommand) failed(cmd *cobra.Command, err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return database.InWords(err)
	}
	return lost(cmd, err, "rowrun drill --clean")
}
