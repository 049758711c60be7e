package commands

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// Tasks are named after programs, and two crontabs may well start the same one. So each imported task remembers its crontab,
// and an import changes no task but those of its own.

// sourceLabel is the key of a task's labels that says from which crontab it was made.
const sourceLabel = "crontab"

// sourceOf tells a crontab from others: a file by its machine and path, what comes through a pipe by its text.
func sourceOf(path, text string) (string, error) {
	if path != "-" {
		if file, err := filepath.EvalSymlinks(path); err == nil {
			info, err := os.Stat(file)
			if err != nil {
				return "", err
			}
			if info.Mode().IsRegular() {
				host, err := os.Hostname()
				if err != nil {
					return "", err
				}
				whole, err := filepath.Abs(file)
				return host + ":" + whole, err
			}
		}
	}
	return fmt.Sprintf("standard input %x", sha256.Sum256([]byte(text)))[:len("standard input ")+16], nil
}

// look refuses names of tasks that no import of this crontab has made, and says which schedules the import changes. Tasks that there are
// none of yet are to be new ones: somebody else's import of another crontab may be under way.
func (i *importing) look(ctx context.Context, s *store.Store, entries []importedEntry, tasks []store.TaskDefinition) (changes []string, err error) {
	var taken []string
	for n, e := range entries {
		whose, change, err := i.lookAt(ctx, s, e, &tasks[n])
		switch {
		case errors.Is(err, store.ErrNotFound):
			tasks[n].New = true
		case err != nil:
			return nil, err
		case whose != "":
			taken = append(taken, whose)
		case change != "":
			changes = append(changes, change)
		}
	}
	if len(taken) > 0 {
		return nil, &absentError{fmt.Sprintf("nothing was made: there are tasks of these names, and no import of this crontab (%s) made them. "+
			"--prefix gives this one names of its own; --source names the crontab that it was before it was moved or edited:\n%s",
			cli.Printable(i.source), strings.Join(taken, "\n"))}
	}
	gone, err := i.withoutLine(ctx, s, entries)
	return append(changes, gone...), err
}

// mostGone is how many tasks without a line are named.
const mostGone = 100

// withoutLine says which tasks of this crontab have a schedule, and no line any more: where a program stands in several
// lines, the number behind its name is another one once a line above is gone, and both tasks would start it.
func (i *importing) withoutLine(ctx context.Context, s *store.Store, entries []importedEntry) ([]string, error) {
	labeled, err := s.SchedulesLabeled(ctx, sourceLabel, i.source, len(entries)+mostGone)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, task := range labeled {
		if !slices.ContainsFunc(entries, func(e importedEntry) bool { return e.Name == task.Name }) {
			gone = append(gone, cli.Printable(fmt.Sprintf("task %d (%s) is of this crontab and of no line of it, and keeps its schedule %s; rowrun schedule pause %[1]d stops it",
				task.TaskID, task.Name, task.Schedule)))
		}
	}
	return gone, nil
}

// keep has a task that is brought up to date keep what the crontab says nothing about, as people have set it since.
func keep(task store.TaskDetails, t *store.TaskDefinition) error {
	ms := func(n *float64) *time.Duration {
		if n == nil {
			return nil
		}
		d := time.Duration(*n * float64(time.Millisecond))
		return &d
	}
	t.Queue, t.DatabaseID, t.Version, t.Sequential, t.Priority = &task.Queue, task.DatabaseID, task.Version, &task.Sequential, &task.Priority
	t.Timeout, t.ProgressTimeout, t.RetryDelay = ms(task.TimeoutMS), ms(task.ProgressTimeoutMS), ms(&task.RetryDelayMS)
	t.MaxAttempts, t.OnStale = &task.MaxAttempts, &task.OnStale
	for into, has := range map[*json.RawMessage]json.RawMessage{&t.Payload: task.Payload, &t.Labels: task.Labels} {
		var document map[string]json.RawMessage
		if err := json.Unmarshal(has, &document); err != nil {
			return fmt.Errorf("task %d: %w", task.ID, err)
		}
		if err := json.Unmarshal(*into, &document); err != nil {
			return err
		}
		whole, err := json.Marshal(document)
		if err != nil {
			return err
		}
		*into = whole
	}
	return nil
}

// lookAt says of one name what is in the way of it, or what becomes another schedule. ErrNotFound: nothing has that name.
func (i *importing) lookAt(ctx context.Context, s *store.Store, e importedEntry, t *store.TaskDefinition) (whose, change string, err error) {
	found, err := s.TasksNamed(ctx, e.Name, 1)
	if err == nil && (len(found) == 0 || found[0].PlanID != nil) {
		err = store.ErrNotFound
	}
	if err != nil {
		return "", "", err
	}
	task, err := s.FindTask(ctx, found[0].ID)
	if err != nil { // it may have been deleted just now
		return "", "", err
	}
	says := fmt.Sprintf("line %d: task %d (%s) ", e.Line, task.ID, e.Name)
	if whose := i.stranger(task); whose != "" {
		return cli.Printable(says + whose), "", nil
	}
	if err := keep(task, t); err != nil {
		return "", "", err
	}
	was, err := s.FindSchedule(ctx, task.ID)
	if errors.Is(err, store.ErrNotFound) {
		return "", "", nil
	}
	if err != nil || was.Schedule == e.Schedule && was.TimeZone == e.TimeZone {
		return "", "", err
	}
	return "", cli.Printable(fmt.Sprintf("%shad the schedule %s in %s", says, was.Schedule, was.TimeZone)), nil
}

// stranger says what a task is that isn't of this crontab; "": it is.
func (i *importing) stranger(task store.TaskDetails) string {
	var labels map[string]json.RawMessage
	var source string
	if json.Unmarshal(task.Labels, &labels) == nil {
		_ = json.Unmarshal(labels[sourceLabel], &source) // somebody else's key of that name is no source
	}
	switch {
	case task.Type != "COMMAND":
		return "is of type " + task.Type
	case source == "":
		return "has no label " + sourceLabel + " that says whose it is"
	case source != i.source:
		return "is of the crontab " + cli.ShellWord(source)
	}
	return ""
}

// mayWrite refuses a file for the commands in which something else stands.
func (i *importing) mayWrite(commands []byte) error {
	if i.config == "" {
		return nil
	}
	info, err := os.Stat(i.config)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return cli.Usagef("--config-to: %w", err)
	case !info.Mode().IsRegular() || info.Size() == 0:
		return nil
	}
	there, err := os.ReadFile(i.config)
	if err != nil {
		return cli.Usagef("--config-to: %w", err)
	}
	if string(there) != string(commands) {
		return cli.Usagef("--config-to: nothing was made: something else stands in %s; accepted: a new file, an empty one, or the one that the same import wrote", i.config)
	}
	return nil
}

// writeCommands writes the part of the file of --config, or shows it: a dry run leaves no file behind.
func (i *importing) writeCommands(stderr io.Writer, commands []byte) error {
	if i.config == "" || i.dryRun {
		_, err := fmt.Fprintf(stderr, "# for the file of --config, of each sidecar that is to run them:\n%s", commands)
		return err
	}
	if err := os.WriteFile(i.config, commands, 0o600); err != nil {
		return fmt.Errorf("--config-to: %w", err)
	}
	return nil
}
