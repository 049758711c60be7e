package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// maxNamed is how many rows of one name are told apart, maxMeant among how many of the newest names one that is misspelt is
// looked for.
const (
	maxNamed = 4
	maxMeant = 200
)

// thing is what an argument names: a row by its id, or by the name that people gave it.
type thing string

const (
	planRow     thing = "plan"
	taskRow     thing = "task"
	webhookRow  thing = "webhook"
	deliveryRow thing = "delivery" // has no name
	runRow      thing = "run"      // the name of a task is its newest run
	openRow     thing = "open run" // the name of a task is its only run that hasn't ended
)

// form is what is accepted, in words.
func (t thing) form() string {
	switch t {
	case runRow:
		return "the id of a run, or the name of a task for its newest one"
	case openRow:
		return "the id of a run, or the name of a task of which one run hasn't ended"
	case deliveryRow:
		return "the id of a delivery, a whole number"
	default:
		return "the id of a " + string(t) + ", or its name"
	}
}

// resolve gives the id that text is or names.
func resolve(ctx context.Context, cmd *cobra.Command, s *store.Store, what thing, text string) (int64, error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		return id, nil // whether there is one, who asks for it finds out
	}
	switch what {
	case planRow:
		found, err := s.PlansNamed(ctx, text, maxNamed)
		return theOne(ctx, s, what, text, found, err)
	case webhookRow:
		found, err := s.WebhooksNamed(ctx, text, maxNamed)
		return theOne(ctx, s, what, text, found, err)
	case taskRow:
		found, err := s.TasksNamed(ctx, text, maxNamed)
		return theOne(ctx, s, what, text, found, err)
	case openRow:
		return openRun(ctx, cmd, s, text)
	default:
		return newestRun(ctx, cmd, s, text)
	}
}

// newestRun is that of the task of a name, and says which it is.
func newestRun(ctx context.Context, cmd *cobra.Command, s *store.Store, name string) (int64, error) {
	task, err := resolve(ctx, cmd, s, taskRow, name)
	if err != nil {
		return 0, err
	}
	id, err := s.NewestRun(ctx, task)
	if errors.Is(err, store.ErrNotFound) {
		return 0, &absentError{fmt.Sprintf("task %d (%s) has no run", task, cli.Printable(name))}
	}
	if err == nil {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "run %d is the newest of task %d (%s)\n", id, task, cli.Printable(name))
	}
	return id, err
}

// openRun is the only run that hasn't ended of the task of a name.
func openRun(ctx context.Context, cmd *cobra.Command, s *store.Store, name string) (int64, error) {
	task, err := resolve(ctx, cmd, s, taskRow, name)
	if err != nil {
		return 0, err
	}
	runs, err := s.ListRuns(ctx, store.RunFilter{Task: strconv.FormatInt(task, 10), Statuses: []string{"PENDING", "AVAILABLE", "RUNNING"}, Limit: 2})
	switch {
	case err != nil:
		return 0, err
	case len(runs) == 0:
		return 0, &absentError{fmt.Sprintf("task %d (%s) has no run that hasn't ended", task, cli.Printable(name))}
	case len(runs) > 1:
		return 0, &absentError{fmt.Sprintf("task %d (%s) has several runs that haven't ended: `rowrun run list --task %d` shows them; give the id of one", task, cli.Printable(name), task)}
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "run %d is the one of task %d (%s)\n", runs[0].ID, task, cli.Printable(name))
	return runs[0].ID, nil
}

// theOne is the only row of a name. Of several none is taken: what is asked of it may not be undone.
func theOne(ctx context.Context, s *store.Store, what thing, name string, found []store.Named, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0:
		return 0, &absentError{fmt.Sprintf("there is no %s named %q%s", what, cli.Printable(name), cli.DidYouMean(name, namesOf(ctx, s, what)))}
	case len(found) == 1:
		return found[0].ID, nil
	}
	words := make([]string, 0, maxNamed)
	for _, one := range found[:min(len(found), maxNamed-1)] {
		word := strconv.FormatInt(one.ID, 10)
		if one.PlanID != nil {
			word += fmt.Sprintf(" (of plan %d)", *one.PlanID)
		}
		words = append(words, word)
	}
	if len(found) == maxNamed {
		words = append(words, "…")
	}
	return 0, &absentError{fmt.Sprintf("several %ss are named %q, the newest first: %s; give the id of one", what, cli.Printable(name), strings.Join(words, ", "))}
}

// namesOf are the newest names. Where they can't be read nothing is suggested.
func namesOf(ctx context.Context, s *store.Store, what thing) []string {
	var names []string
	switch what {
	case planRow:
		plans, _ := s.ListPlans(ctx, store.PlanFilter{Limit: maxNewestPlans})
		for _, plan := range plans {
			names = append(names, plan.Name)
		}
	case webhookRow:
		webhooks, _ := s.ListWebhooks(ctx, "")
		for _, webhook := range webhooks {
			names = append(names, webhook.Name)
		}
	default:
		for _, definitions := range []bool{true, false} {
			tasks, _ := s.ListTasks(ctx, store.TaskFilter{Definitions: definitions, Limit: maxMeant})
			for _, task := range tasks {
				names = append(names, task.Name)
			}
		}
	}
	return names
}

// maxNewestPlans bounds the plans whose names are looked at: the status of each is counted from its tasks.
const maxNewestPlans = 50

// planFlag is a --plan that takes an id or a name.
type planFlag struct{ text string }

func (p *planFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.text, "plan", "", "`id or name` of a plan")
}

// id is the plan's; nil: none is given.
func (p *planFlag) id(ctx context.Context, cmd *cobra.Command, s *store.Store) (*int64, error) {
	if p.text == "" {
		return nil, nil //nolint:nilnil // no plan is no mistake
	}
	id, err := resolve(ctx, cmd, s, planRow, p.text)
	return &id, err
}

// meantType ends a sentence about a type of which nothing is there with the one that was most likely meant.
func meantType(ctx context.Context, s *store.Store, name string) string {
	if name == "" {
		return ""
	}
	words, err := s.KnownWords(ctx)
	if err != nil {
		return ""
	}
	known := append(builtInTypes(), words.Types...)
	for _, one := range known {
		if one == name {
			return ""
		}
	}
	return cli.DidYouMean(name, known)
}

func builtInTypes() []string { return []string{"NOOP", "SQL", "DATABASE_MIGRATE", "HTTP", "COMMAND"} }

// shortReplica is a replica's id as tables show it: its name and the beginning of what tells it from others of that name.
// The commands that take an id take this too.
func shortReplica(id string) string {
	const tail, kept = 36, 8 // a UUID, and its first digits
	if len(id) <= tail || id[len(id)-tail-1] != '-' || strings.Count(id[len(id)-tail:], "-") != 4 {
		return id
	}
	return id[:len(id)-tail+kept]
}

// wholeReplica is the id or name that text stands for: one of a live replica whose id begins with it, or text itself.
func wholeReplica(ctx context.Context, s *store.Store, text string) (string, error) {
	status, err := s.Status(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, r := range status.Replicas {
		if r.ReplicaID == text || r.Name == text {
			return text, nil
		}
		if shortReplica(r.ReplicaID) == text {
			found = append(found, r.ReplicaID)
		}
	}
	switch len(found) {
	case 0:
		return text, nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s is the beginning of several ids: %s", cli.Printable(text), cli.Printable(strings.Join(found, ", ")))
}
