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
	"strings"

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
		whose, change, err := i.lookAt(ctx, s, e)
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
	return changes, nil
}

// lookAt says of one name what is in the way of it, or what becomes another schedule. ErrNotFound: nothing has that name.
func (i *importing) lookAt(ctx context.Context, s *store.Store, e importedEntry) (whose, change string, err error) {
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

// writeCommands writes the part of the file of --config.
func (i *importing) writeCommands(stderr io.Writer, commands []byte) error {
	if i.config == "" {
		_, err := fmt.Fprintf(stderr, "# for the file of --config, of each sidecar that is to run them:\n%s", commands)
		return err
	}
	if err := os.WriteFile(i.config, commands, 0o600); err != nil {
		return fmt.Errorf("--config-to: %w", err)
	}
	return nil
}
