package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/crontab"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
)

// importing is what `schedule import` is told.
type importing struct {
	system, dryRun                   bool
	timeZone, prefix, config, source string
}

func (c *scheduleCommand) imports() *cobra.Command {
	var i importing
	cmd := &cobra.Command{
		Use:   "import CRONTAB",
		Short: "Make a recurring COMMAND task of each line of a crontab, and print the commands for the file of --config",
		Long: "Make a recurring task of type COMMAND of each line of a crontab (- for standard input, as in crontab -l | …), all or\n" +
			"none, and print what the sidecars need to run them: the commands for the file of --config. Called twice it makes one\n" +
			"set. Tasks are named after their program, a second one of that name with a number behind it. Their label crontab says\n" +
			"of which crontab they are; where there is a task of that name, and it isn't of this one, nothing is made.\n\n" +
			"As with cron, a missed tick is not made up for, and a run has no time limit. Unlike cron a tick that comes while the\n" +
			"run before is under way is left out, the fields are read in a zone that the task names, commands run with the rights\n" +
			"of the sidecar, and have the variables of the crontab and no others. A line that can't be taken over ends it.",
		Example: "  crontab -l | rowrun schedule import - --dry-run\n" +
			"  rowrun schedule import /etc/cron.d/app --system --config-to commands.yaml",
		Args: cli.Arguments("CRONTAB"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importFrom(cmd, args[0], &i) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&i.system, "system", false, "the sixth field is a user, as in /etc/crontab and /etc/cron.d")
	flags.BoolVar(&i.dryRun, "dry-run", false, "show what would be made; asks no database")
	flags.StringVar(&i.timeZone, "time-zone", "", "`zone` of lines without CRON_TZ (default: this machine's)")
	flags.StringVar(&i.prefix, "prefix", "", "what the `names` of tasks and commands begin with")
	flags.StringVar(&i.source, "source", "", "`name` of this crontab, for the label (default: machine and path; of standard input a hash of the text)")
	flags.StringVar(&i.config, "config-to", "", "`file` for the commands, in which nothing else stands (default: standard error)")
	return cmd
}

// importedEntry is a line of the crontab and what was made of it.
type importedEntry struct {
	Line     int    `json:"line"`
	TaskID   int64  `json:"task_id,omitempty"`
	Name     string `json:"name"`
	Schedule string `json:"schedule"`
	TimeZone string `json:"time_zone"`
	Command  string `json:"command"`
	User     string `json:"user,omitempty"`
}

func (c *scheduleCommand) importFrom(cmd *cobra.Command, path string, i *importing) error {
	read, err := i.read(cmd, path)
	if err != nil {
		return err
	}
	entries, tasks, commands, err := i.translate(read)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(map[string]any{"commands": commands})
	if err != nil {
		return err
	}
	if err := i.mayWrite(text); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	for _, note := range read.Notes {
		_, _ = fmt.Fprintln(stderr, cli.Printable(note))
	}
	if !i.dryRun {
		if err := c.ask(cmd, func(ctx context.Context, s *store.Store) error { return i.define(ctx, stderr, s, entries, tasks) }); err != nil {
			return err
		}
	}
	if err := i.writeCommands(stderr, text); err != nil {
		return err
	}
	return c.out.Write(cmd, entries, importTable(entries))
}

// define makes the tasks, and says of which the schedule became another one.
func (i *importing) define(ctx context.Context, stderr io.Writer, s *store.Store, entries []importedEntry, tasks []store.TaskDefinition) error {
	changes, err := i.look(ctx, s, entries, tasks)
	if err != nil {
		return err
	}
	ids, err := s.DefineTasks(ctx, tasks)
	var refused *store.DefinitionError
	if errors.As(err, &refused) {
		return &absentError{fmt.Sprintf("line %d: nothing was made: %s", entries[refused.Index].Line, database.InWords(refused.Unwrap()))}
	}
	if err != nil {
		return err
	}
	for n, id := range ids {
		entries[n].TaskID = id
	}
	for _, change := range changes {
		_, _ = fmt.Fprintln(stderr, change)
	}
	return nil
}

// read refuses a crontab of which a line would be left out.
func (i *importing) read(cmd *cobra.Command, path string) (crontab.Crontab, error) {
	from := "-"
	if path != "-" {
		from = "@" + path
	}
	text, err := readText(cmd, cmd.CommandPath(), from)
	if err != nil {
		return crontab.Crontab{}, err
	}
	if i.source == "" {
		if i.source, err = sourceOf(path, text); err != nil {
			return crontab.Crontab{}, cli.Usagef("%s: %w; --source names the crontab", cmd.CommandPath(), err)
		}
	}
	read := crontab.Parse(text, i.system)
	if len(read.Refused) > 0 {
		return read, cli.Usagef("%s: nothing was made; take these lines out, or mend them:\n%s", path, strings.Join(read.Refused, "\n"))
	}
	if len(read.Entries) == 0 {
		return read, cli.Usagef("%s: has no line that starts something", path)
	}
	return read, nil
}

// shellCommand is an entry of commands in the file of --config.
type shellCommand struct {
	Path string            `yaml:"path"`
	Args []string          `yaml:"args,flow"`
	Env  map[string]string `yaml:"env,omitempty"`
}

// translate makes tasks and commands of the lines.
func (i *importing) translate(read crontab.Crontab) ([]importedEntry, []store.TaskDefinition, map[string]shellCommand, error) {
	entries := make([]importedEntry, len(read.Entries))
	tasks := make([]store.TaskDefinition, len(read.Entries))
	commands := map[string]shellCommand{}
	labels, err := json.Marshal(map[string]string{sourceLabel: i.source})
	if err != nil {
		return nil, nil, nil, err
	}
	braces := strings.NewReplacer("{", "{{", "}", "}}") // one would be an argument of the payload
	for n, e := range read.Entries {
		zone := e.TimeZone
		if zone == "" {
			zone = i.timeZone
		}
		if zone == "" {
			zone = machineZone()
		}
		if zone == "" {
			return nil, nil, nil, cli.Usagef("--time-zone: is missing, and this machine doesn't say its zone; accepted: a name such as Europe/Berlin, or UTC")
		}
		name := i.prefix + e.Name
		payload, err := json.Marshal(map[string]string{"command": name})
		if err != nil {
			return nil, nil, nil, err
		}
		none, schedule := time.Duration(0), e.Schedule
		entries[n] = importedEntry{Line: e.Line, Name: name, Schedule: e.Schedule, TimeZone: zone, Command: e.Command, User: e.User}
		tasks[n] = store.TaskDefinition{
			Name: name, Type: "COMMAND", Payload: payload, Timeout: &none, Labels: labels,
			Recurs: store.Recurrence{Schedule: &schedule, TimeZone: &zone},
		}
		shell := e.Shell
		if shell == "" {
			shell = "/bin/sh"
		}
		commands[name] = shellCommand{Path: shell, Args: []string{"-c", braces.Replace(e.Command)}, Env: e.Env}
	}
	return entries, tasks, commands, nil
}

// machineZone is the zone of this machine's clock by its name, "" where it doesn't say one.
func machineZone() string {
	if name := time.Local.String(); name != "Local" && name != "" { // of TZ
		return name
	}
	target, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil {
		return ""
	}
	if _, name, found := strings.Cut(target, "/zoneinfo/"); found {
		return name
	}
	if name, err := os.ReadFile("/etc/timezone"); err == nil {
		return strings.TrimSpace(string(name))
	}
	return ""
}

func importTable(entries []importedEntry) cli.Table {
	t := cli.Table{Columns: []cli.Column{
		cli.Whole("LINE"), cli.Whole("TASK"), cli.Free("NAME"), cli.Free("SCHEDULE"), cli.Free("ZONE").Spare(), cli.Free("USER").Spare(), cli.Free("COMMAND"),
	}}
	for _, e := range entries {
		id := ""
		if e.TaskID != 0 {
			id = strconv.FormatInt(e.TaskID, 10)
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(e.Line), id, e.Name, e.Schedule, e.TimeZone, e.User, e.Command})
		t.Names = append(t.Names, e.Name)
	}
	return t
}
