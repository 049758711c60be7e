package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/planfile"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/store"
)

// planApplication is what `plan apply` is told.
type planApplication struct {
	options     planfile.Options
	dryRun      bool
	again, wait bool
	timeout     time.Duration
	to, config  string // a selector of targets, and the file that names them
	waves       waveWords
}

func (p *planCommand) apply() *cobra.Command {
	var a planApplication
	cmd := &cobra.Command{
		Use:   "apply DIR|FILE",
		Short: "Bring a plan to what a directory of migrations or a YAML file says, run what is new, and print its id",
		Long: "Bring a plan to what a directory of migrations or a YAML file says, run what is new, and print the plan's id. One\n" +
			"transaction does it, and called twice it makes one set.\n\n" +
			"DIR has a folder for each target database, with Flyway's names: orders/V1.2__add_index.sql is version 1.2 of orders.\n" +
			"With --database all migrations below DIR are of that one, with --to each is of every target of --config that matches. A comment -- rowrun: transaction=false at the head of a file\n" +
			"(or Flyway's FILE.conf) has it run outside of a transaction. FILE is YAML: plan, project, parallel_limit, on_failure,\n" +
			"on_finish and tasks with name, type, database, version, sql or file or payload, depends_on and the other columns of a task.\n\n" +
			"A file that was changed is run again if it FAILED, was CANCELED or never ran. One that is DONE, SKIPPED or under way\n" +
			"is refused, with the SHA-256 of what was applied; so is one that another plan has applied (the plan's name is that of\n" +
			"the directory, or --name). What has FAILED and wasn't changed is retried by `rowrun plan retry`.",
		Example: "  rowrun plan apply migrations --dry-run\n" +
			"  rowrun plan apply migrations --wait --timeout 10m\n" +
			"  rowrun plan apply db/migration --database orders --name orders",
		Args: cli.Arguments("DIR|FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.applies(cmd, args[0], &a) },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.options.Name, "name", "", "`name` of the plan (default: that of the directory, or what the file says)")
	flags.StringVar(&a.options.Project, "project", "", "`name` of its project (default: what the file says, or default)")
	flags.StringVar(&a.options.Database, "database", "", "`name` of the target database of all migrations in DIR (default: that of the folder)")
	flags.StringVar(&a.to, "to", "", "apply all migrations in DIR to each target of --config whose labels match: `env=prod,tier!=free,name=tenant_*`")
	flags.StringVar(&a.config, "config", "", "`file` of the sidecars, whose databases and databases_from --to chooses from")
	a.waves.register(flags)
	flags.BoolVar(&a.dryRun, "dry-run", false, "show what would be done, and change nothing")
	flags.BoolVar(&a.again, "again", false, "also run migrations that another plan has applied")
	flags.BoolVar(&a.wait, "wait", false, "wait until the plan has ended; exit 0 if it is DONE")
	flags.DurationVar(&a.timeout, "timeout", 0, "how long --wait waits; 0: for ever")
	return cmd
}

func (p *planCommand) applies(cmd *cobra.Command, path string, a *planApplication) error {
	if a.timeout < 0 || a.timeout > 0 && !a.wait || a.wait && a.dryRun {
		return cli.Usagef("--wait and --timeout: accepted: a duration, with --wait, and without --dry-run")
	}
	if err := a.choose(cmd.Context(), p.lookup); err != nil {
		return err
	}
	read, err := planfile.Read(path, a.options)
	if err != nil {
		return err
	}
	for _, ignored := range read.Ignored {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "left out: %s\n", cli.Printable(ignored))
	}
	s, err := p.open(cmd)
	if err != nil {
		return err
	}
	defer s.Close()
	done := applied{planName: read.Name, DryRun: a.dryRun}
	err = asking(cmd.Context(), func(ctx context.Context) error {
		wanted := store.WantedPlan{
			Project: read.Project, Name: read.Name, ParallelLimit: read.ParallelLimit, OnFailure: read.OnFailure, OnFinish: read.OnFinish, Tasks: read.Tasks,
		}
		var err error
		done.PlanID, done.Runs, err = s.ApplyPlan(ctx, wanted, func(now store.AppliedPlan) (store.Apply, error) {
			todo := done.decide(wanted, now, a.again)
			todo.Waves = a.waves.of(wanted, todo.Make)
			if a.dryRun {
				return todo, store.ErrDryRun
			}
			return todo, done.refusal()
		})
		if errors.Is(err, store.ErrDryRun) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.showApplied(cmd, &done); err != nil || !a.wait {
		return err
	}
	return p.listening(cmd, s, a.timeout, func(ctx context.Context, w *watching) error { return p.awaitEnd(ctx, cmd, w, done.PlanID) })
}

// choose finds the targets that --to names.
func (a *planApplication) choose(ctx context.Context, lookup func(string) (string, bool)) error {
	if a.to == "" {
		return a.waves.without()
	}
	if a.options.Database != "" || a.config == "" {
		return cli.Usagef("--to: goes with --config FILE, and not with --database")
	}
	selector, err := replica.ParseSelector(a.to)
	if err != nil {
		return cli.Usagef("--to: %w", err)
	}
	file, err := replica.ReadFile(a.config)
	if err != nil {
		return err
	}
	targets, err := file.Targets(ctx, lookup)
	if err != nil {
		return fmt.Errorf("--config %s: %w", a.config, err)
	}
	if a.options.Databases = selector.Choose(targets); len(a.options.Databases) == 0 {
		return cli.Usagef("--to %s: none of the %d targets of --config matches", a.to, len(targets))
	}
	return a.waves.divide(a.options.Databases, targets)
}

// applied is what was done, or would be.
type applied struct {
	PlanID int64         `json:"plan_id"` // 0: it would be made
	DryRun bool          `json:"dry_run"`
	Runs   int           `json:"runs"` // that were made
	Terms  []appliedTerm `json:"terms,omitempty"`
	Tasks  []appliedTask `json:"tasks"`

	planName string
}

// appliedTerm is a column of the plan that becomes another one.
type appliedTerm struct {
	Name string `json:"name"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// appliedTask is what becomes of one task.
type appliedTask struct {
	Name     string  `json:"name"`
	Database *string `json:"database_id"`
	Version  *string `json:"version"`
	TaskID   int64   `json:"task_id,omitempty"`
	Status   string  `json:"status"` // before it
	Action   string  `json:"action"`
	SHA256   string  `json:"sha256"`
	Was      string  `json:"was_sha256,omitempty"` // what was applied, where that is another one
	why      string
}

// What becomes of a task.
const (
	actMake    = "MAKE"    // it is new, and runs
	actChange  = "CHANGE"  // it is another one than before, and runs again
	actRun     = "RUN"     // it is as it was, and never ran
	actKeep    = "KEEP"    // it is as it was
	actRefuse  = "REFUSE"  // it may not be changed any more
	actMissing = "MISSING" // it was applied, and is no more among the files
)

// decide compares what is wanted with what there is.
func (d *applied) decide(wanted store.WantedPlan, now store.AppliedPlan, again bool) store.Apply {
	d.PlanID = now.ID
	d.compareTerms(wanted, now)
	todo := store.Apply{Terms: len(d.Terms) > 0}
	elsewhere := map[string]store.Elsewhere{}
	for _, e := range now.Elsewhere {
		elsewhere[e.DatabaseID+"\x00"+planfile.Canonical(e.Version)] = e
	}
	for i, task := range wanted.Tasks {
		row := appliedTask{Name: task.Name, Database: task.DatabaseID, Version: task.Version, SHA256: task.Hash, Status: "NOT_STARTED"}
		was, there := now.Tasks[task.Name]
		if there {
			row.TaskID, row.Status = was.ID, was.Status
		}
		row.Action = actionOf(was, there, task.Hash)
		if there && was.Hash != task.Hash {
			row.Was = was.Hash
			row.why = "it is " + was.Status
		}
		if row.Action == actMake && !again && task.DatabaseID != nil && task.Version != nil {
			if e, found := elsewhere[*task.DatabaseID+"\x00"+planfile.Canonical(*task.Version)]; found && task.Type == "DATABASE_MIGRATE" {
				row.Action, row.Was = actRefuse, e.Hash
				row.why = fmt.Sprintf("plan %d (%s) has applied it: --name %s goes on with that one, --again applies it here too", e.PlanID, e.Plan, cli.ShellWord(e.Plan))
			}
		}
		switch row.Action {
		case actMake:
			todo.Make, todo.Run = append(todo.Make, i), append(todo.Run, i)
		case actChange:
			todo.Change, todo.Run = append(todo.Change, i), append(todo.Run, i)
		case actRun:
			todo.Run = append(todo.Run, i)
		}
		d.Tasks = append(d.Tasks, row)
		delete(now.Tasks, task.Name)
	}
	for _, left := range now.Tasks {
		d.Tasks = append(d.Tasks, appliedTask{
			Name: left.Name, Database: left.DatabaseID, Version: left.Version, TaskID: left.ID, Status: left.Status, Action: actMissing, Was: left.Hash,
		})
	}
	return todo
}

// compareTerms says what becomes another limit and another way to go on after a failure. What the file doesn't say stays.
func (d *applied) compareTerms(wanted store.WantedPlan, now store.AppliedPlan) {
	if now.ID == 0 {
		return
	}
	if limit := wanted.ParallelLimit; limit != nil && (now.ParallelLimit == nil || *now.ParallelLimit != *limit) {
		was := "none"
		if now.ParallelLimit != nil {
			was = strconv.Itoa(*now.ParallelLimit)
		}
		d.Terms = append(d.Terms, appliedTerm{"parallel_limit", was, strconv.Itoa(*limit)})
	}
	if mode := wanted.OnFailure; mode != nil && *mode != now.OnFailure {
		d.Terms = append(d.Terms, appliedTerm{"on_failure", now.OnFailure, *mode})
	}
}

// actionOf says what becomes of a task whose file has that hash now.
func actionOf(was store.AppliedTask, there bool, hash string) string {
	switch {
	case !there:
		return actMake
	case was.Hash == hash && was.Status == "NOT_STARTED":
		return actRun
	case was.Hash == hash:
		return actKeep
	case was.Status == "NOT_STARTED" || was.Status == "FAILED" || was.Status == "CANCELED":
		return actChange
	}
	return actRefuse
}

// refusal says which tasks may not be changed, nil: none.
func (d *applied) refusal() error {
	const most = 5
	var lines []string
	n := 0
	for _, task := range d.Tasks {
		if task.Action != actRefuse {
			continue
		}
		if n++; n > most {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s\n    applied with SHA-256 %s\n    the file has         %s", task.Name, task.why, orNone(task.Was), task.SHA256))
	}
	if n == 0 {
		return nil
	}
	if n > most {
		lines = append(lines, fmt.Sprintf("and %d more: --dry-run shows all", n-most))
	}
	return fmt.Errorf("nothing was changed: %d of %d tasks may not be any more; put what is changed into a version of its own\n%s",
		n, len(d.Tasks), strings.Join(lines, "\n"))
}

func orNone(hash string) string {
	if hash == "" {
		return "none (it was made by something else)"
	}
	return hash
}

func (d *applied) count(action string) int {
	n := 0
	for _, task := range d.Tasks {
		if task.Action == action {
			n++
		}
	}
	return n
}

// showApplied prints the plan's id, or, of a dry run, what would become of each task.
func (p *planCommand) showApplied(cmd *cobra.Command, d *applied) error {
	if p.out.Document() {
		if err := p.out.Write(cmd, d, cli.Table{}); err != nil {
			return err
		}
		return d.dryRefusal()
	}
	stderr := cmd.ErrOrStderr()
	for _, task := range d.Tasks {
		if task.Action == actMissing && !d.DryRun {
			_, _ = fmt.Fprintf(stderr, "%s was applied and is not there any more: it stays in the plan, %s\n", cli.Printable(task.Name), task.Status)
		}
	}
	for _, term := range d.Terms {
		verb := "becomes"
		if d.DryRun {
			verb = "would become"
		}
		_, _ = fmt.Fprintf(stderr, "%s %s %s; it was %s\n", term.Name, verb, cli.Printable(term.Is), term.Was)
	}
	plan := "a new plan"
	if d.PlanID != 0 {
		plan = fmt.Sprintf("plan %d", d.PlanID)
	}
	verb := ""
	if d.DryRun {
		verb = "would be: "
	}
	_, _ = fmt.Fprintf(stderr, "%s (%s): %s%d new, %d changed, %d as they were, %d refused; %d runs made\n", plan, cli.Printable(d.planName), verb,
		d.count(actMake), d.count(actChange), d.count(actKeep)+d.count(actRun), d.count(actRefuse), d.Runs)
	if !d.DryRun {
		return p.answer(cmd, d, strconv.FormatInt(d.PlanID, 10))
	}
	if err := p.out.Write(cmd, d, applyTable(d.Tasks)); err != nil {
		return err
	}
	return d.dryRefusal()
}

// dryRefusal has a dry run fail where the application would.
func (d *applied) dryRefusal() error {
	if !d.DryRun {
		return nil
	}
	return d.refusal()
}

func applyTable(tasks []appliedTask) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Whole("WHAT"), cli.Status(), cli.Free("TASK"), cli.Free("DATABASE").Spare(), cli.Free("VERSION").Spare(), cli.Whole("SHA-256").Spare(), cli.Free("WHOLE SHA-256").Wide(),
		},
		None: "nothing to do",
	}
	for _, task := range tasks {
		t.Rows = append(t.Rows, []string{
			strings.ToLower(task.Action), task.Status, task.Name, text(task.Database), text(task.Version), task.SHA256[:min(12, len(task.SHA256))], task.SHA256,
		})
		t.Names = append(t.Names, task.Name)
	}
	return t
}
