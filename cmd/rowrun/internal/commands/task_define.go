package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// defining is what `task define` is told. What isn't given is the column's default.
type defining struct {
	kind, payload, sql, labels           string
	queue, database, version, onStale    string
	schedule, timeZone, misfire, overlap string
	sequential                           bool
	priority, maxAttempts                int
	timeout, progressTimeout, retryDelay time.Duration
	spread, aging                        time.Duration
	given                                *pflag.FlagSet
}

func (t *taskCommand) define() *cobra.Command {
	var d defining
	cmd := &cobra.Command{
		Use:   "define NAME",
		Short: "Make a task without a plan, or bring it up to date, and print its id",
		Long: "Make a task without a plan, or bring the one of that name up to date, and print its id. A definition says all:\n" +
			"what isn't given is the default, but for the schedule and aging, which stay as they are. Called twice it changes nothing.\n" +
			"On standard error it says what was changed.",
		Example: "  rowrun task define hello --type NOOP --payload '{\"sleep\": \"200ms\"}'\n" +
			"  rowrun task define count --database orders --sql @count.sql\n" +
			"  rowrun task define report --type HTTP --payload @report.json --schedule '30 2 * * *' --time-zone Europe/Berlin",
		Args: cli.Arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.given = cmd.Flags()
			task, err := d.task(cmd, args[0])
			if err != nil {
				return err
			}
			return t.ask(cmd, func(ctx context.Context, s *store.Store) error { return t.defines(ctx, cmd, s, task) })
		},
	}
	d.register(cmd.Flags())
	return cmd
}

func (d *defining) register(flags *pflag.FlagSet) {
	flags.StringVar(&d.kind, "type", "", "`type`: NOOP, SQL, DATABASE_MIGRATE, HTTP, COMMAND or one of your own; with --sql: SQL")
	flags.StringVar(&d.payload, "payload", "", "`JSON` object, @FILE, or - for standard input: what the type needs")
	flags.StringVar(&d.sql, "sql", "", "`statements` of a SQL task, @FILE, or - for standard input")
	flags.StringVar(&d.queue, "queue", "", "`name` of a queue (default: default)")
	flags.StringVar(&d.database, "database", "", "`name` of a target database")
	flags.StringVar(&d.version, "version", "", "`version`: numbers and dots, for the order on a database")
	flags.BoolVar(&d.sequential, "sequential", false, "alone on its database (default: true for DATABASE_MIGRATE)")
	flags.IntVar(&d.priority, "priority", 0, "higher is run first")
	flags.DurationVar(&d.aging, "aging", 0, "raise the priority of each run by one for each such `duration` that it is due and waits; 0: no more (default: as it is)")
	flags.DurationVar(&d.timeout, "timeout", 0, "how long a run may take; 0: no limit (default: the sidecar's --task-timeout)")
	flags.DurationVar(&d.progressTimeout, "progress-timeout", 0, "how long a run may go without reporting progress (default: no limit)")
	flags.IntVar(&d.maxAttempts, "max-attempts", 1, "how often a run is tried")
	flags.DurationVar(&d.retryDelay, "retry-delay", 10*time.Second, "wait before the first retry; it doubles")
	cli.Choice(flags, &d.onStale, "on-stale", "FAIL", "what becomes of a run that is lost with its replica", "FAIL", "RETRY", "CANCEL")
	flags.StringVar(&d.labels, "labels", "", "`JSON` object of your own")
	flags.StringVar(&d.schedule, "schedule", "", "when it recurs: five cron `fields`, @hourly, @every 10m, @after 10m; - for no more")
	flags.StringVar(&d.timeZone, "time-zone", "", "`zone` of the cron fields, such as Europe/Berlin")
	cli.Choice(flags, &d.misfire, "misfire", "SKIP", "what becomes of ticks that nobody could start in time", "SKIP", "ONCE", "ALL")
	cli.Choice(flags, &d.overlap, "overlap", "SKIP", "what becomes of ticks that pass while a run is under way", "SKIP", "QUEUE")
	flags.DurationVar(&d.spread, "spread", 0, "put the runs off by up to this `duration`, by as much each time; at most the time between two ticks")
}

// task is what the flags say.
func (d *defining) task(cmd *cobra.Command, name string) (store.TaskDefinition, error) {
	task := store.TaskDefinition{Name: name, Type: d.kind}
	var err error
	switch {
	case name == "":
		return task, cli.Usagef("%s: NAME is empty", cmd.CommandPath())
	case d.sql != "" && d.payload != "":
		return task, cli.Usagef("--sql and --payload: only one of them says what is run")
	case d.sql != "":
		if task.Payload, err = d.statements(cmd); err != nil {
			return task, err
		}
		if task.Type == "" {
			task.Type = "SQL"
		}
	case task.Type == "":
		return task, cli.Usagef("--type: is missing; accepted: %s, or a type of your own", strings.Join(builtInTypes(), ", "))
	default:
		if task.Payload, err = readDocument(cmd, "--payload", d.payload); err != nil {
			return task, err
		}
	}
	if d.labels != "" {
		if task.Labels, err = readDocument(cmd, "--labels", d.labels); err != nil {
			return task, err
		}
	}
	for _, wanted := range []struct {
		flag  string
		value time.Duration
	}{{"timeout", d.timeout}, {"progress-timeout", d.progressTimeout}, {"retry-delay", d.retryDelay}, {"spread", d.spread}, {"aging", d.aging}} {
		if wanted.value < 0 {
			return task, cli.Usagef("--%s: %s is not accepted; accepted: a duration", wanted.flag, wanted.value)
		}
	}
	task.Queue, task.DatabaseID, task.Version = given(d, "queue", d.queue), given(d, "database", d.database), given(d, "version", d.version)
	task.Sequential, task.Priority, task.MaxAttempts = given(d, "sequential", d.sequential), given(d, "priority", d.priority), given(d, "max-attempts", d.maxAttempts)
	task.Timeout, task.ProgressTimeout = given(d, "timeout", d.timeout), given(d, "progress-timeout", d.progressTimeout)
	task.Aging = given(d, "aging", d.aging)
	task.RetryDelay, task.OnStale = given(d, "retry-delay", d.retryDelay), given(d, "on-stale", d.onStale)
	task.Recurs = store.Recurrence{
		Schedule: given(d, "schedule", d.schedule), TimeZone: given(d, "time-zone", d.timeZone),
		Misfire: given(d, "misfire", d.misfire), Overlap: given(d, "overlap", d.overlap),
		Spread: given(d, "spread", d.spread),
	}
	return task, nil
}

// given is the value of a flag that was given, otherwise nil.
func given[T any](d *defining, flag string, value T) *T {
	if !d.given.Changed(flag) {
		return nil
	}
	return &value
}

func (d *defining) statements(cmd *cobra.Command) (json.RawMessage, error) {
	text, err := readText(cmd, "--sql", d.sql)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, cli.Usagef("--sql: %s is empty", d.sql)
	}
	return json.Marshal(map[string]string{"sql": text})
}

// defines writes the definition, and says what that changed.
func (t *taskCommand) defines(ctx context.Context, cmd *cobra.Command, s *store.Store, task store.TaskDefinition) error {
	before, err := s.TasksNamed(ctx, task.Name, 1)
	if err != nil {
		return err
	}
	var was, is store.TaskDetails
	made := len(before) == 0 || before[0].PlanID != nil
	if !made {
		if was, err = s.FindTask(ctx, before[0].ID); err != nil {
			return err
		}
	}
	meant := ""
	if was.Type != task.Type && t.out.ForPeople() {
		meant = meantType(ctx, s, task.Type) // among those that are there before this one is
	}
	ids, err := s.DefineTasks(ctx, []store.TaskDefinition{task})
	if err != nil {
		return err
	}
	if is, err = s.FindTask(ctx, ids[0]); err != nil {
		return err
	}
	changed := []string{}
	said := "made"
	if !made {
		if changed, err = differences(was, is); err != nil {
			return err
		}
		said = "as it was"
		if len(changed) > 0 {
			said = "changed: " + strings.Join(changed, ", ")
		}
	}
	if t.out.ForPeople() {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "task %d (%s) %s\n", ids[0], cli.Printable(task.Name), said)
		if meant != "" {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "the type %s is a new one%s\n", cli.Printable(is.Type), meant)
		}
	}
	return t.answer(cmd, struct {
		TaskID  int64    `json:"task_id"`
		Made    bool     `json:"made"`
		Changed []string `json:"changed"`
	}{ids[0], made, changed}, strconv.FormatInt(ids[0], 10))
}

// differences are the columns in which two states of a task differ, but for how its runs stand.
func differences(was, is store.TaskDetails) ([]string, error) {
	fields := func(task store.TaskDetails) (map[string]json.RawMessage, error) {
		text, err := json.Marshal(task)
		if err != nil {
			return nil, err
		}
		var all map[string]json.RawMessage
		return all, json.Unmarshal(text, &all)
	}
	old, err := fields(was)
	if err != nil {
		return nil, err
	}
	now, err := fields(is)
	if err != nil {
		return nil, err
	}
	changed := []string{}
	for name, value := range now {
		if !bytes.Equal(value, old[name]) && !slices.Contains([]string{"status", "last_run_id", "code", "detail", "schedule_error"}, name) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}
