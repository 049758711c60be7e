package commands

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/bench"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

const (
	// completionPatience is how long a shell waits for the database.
	completionPatience = 1500 * time.Millisecond
	// maxCompleted is how many of the newest rows are offered.
	maxCompleted = 50
)

// completing are words for what is being typed, read from the database.
type completing func(ctx context.Context, s *store.Store) ([]word, error)

// word is one of them, with what it stands for.
type word struct{ text, about string }

// complete gives each command below all the words that its arguments and flags take.
func complete(env cli.Environment, all []*cobra.Command) []*cobra.Command {
	for _, cmd := range all {
		complete(env, cmd.Commands())
		if read := argumentWords(cmd); read != nil {
			cmd.ValidArgsFunction = fromDatabase(env, read, true)
		} else if cmd.Name() == "bench" {
			cmd.ValidArgs = bench.Names()
		} else if !strings.Contains(cmd.Use, "DIR|FILE") && !strings.Contains(cmd.Use, "CRONTAB") {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(flag *pflag.Flag) { completeFlag(env, cmd, flag) })
		}
	}
	return all
}

// argumentWords are those of a command's first argument, nil: there are none to read.
func argumentWords(cmd *cobra.Command) completing {
	_, argument, _ := strings.Cut(cmd.Use, " ")
	switch argument {
	case "ID|TASK":
		return runWords(cmd.Name())
	case "TASK":
		return taskWords(true)
	case "REPLICA":
		return replicaWords
	case "TYPE", "OLD", "OLD NEW":
		return typeWords
	case "ID|NAME":
		switch cmd.Parent().Name() {
		case "plan":
			return planWords
		case "webhook":
			return webhookWords
		case "schedule":
			return scheduleWords
		default:
			return taskWords(false)
		}
	}
	return nil
}

// completeFlag has a flag's value completed. One that has its words already is left alone.
func completeFlag(env cli.Environment, cmd *cobra.Command, flag *pflag.Flag) {
	var complete cobra.CompletionFunc
	switch choices := cli.Choices(flag); {
	case choices != nil:
		complete = cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
	case flag.Name == "status":
		complete = statusWords(cmd)
	case flag.Name == "events":
		complete = cobra.FixedCompletions(webhookEvents(), cobra.ShellCompDirectiveNoFileComp)
	case flag.Name == "plan":
		complete = fromDatabase(env, planWords, false)
	case flag.Name == "task":
		complete = fromDatabase(env, taskWords(false), false)
	case flag.Name == "webhook":
		complete = fromDatabase(env, webhookWords, false)
	case flag.Name == "type" || flag.Name == "types":
		complete = fromDatabase(env, typeWords, false)
	case flag.Name == "queue" || flag.Name == "queues":
		complete = fromDatabase(env, func(ctx context.Context, s *store.Store) ([]word, error) {
			known, err := s.KnownWords(ctx)
			return bare(known.Queues), err
		}, false)
	case flag.Name == "database":
		complete = fromDatabase(env, func(ctx context.Context, s *store.Store) ([]word, error) {
			known, err := s.KnownWords(ctx)
			return bare(known.Databases), err
		}, false)
	default:
		return
	}
	_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // it fails where the flag has its words already
}

// statusWords completes the last of several statuses.
func statusWords(cmd *cobra.Command) cobra.CompletionFunc {
	words := statuses.OfRuns()
	switch cmd.CommandPath() {
	case "rowrun plan list", "plan list":
		words = statuses.OfPlans()
	case "rowrun task list", "task list":
		words = statuses.OfTasks()
	case "rowrun webhook deliveries", "webhook deliveries":
		words = deliveryStatuses()
	}
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		begun := typed[:strings.LastIndex(typed, ",")+1]
		var offered []cobra.Completion
		for _, status := range words {
			offered = append(offered, begun+status)
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// fromDatabase completes with what read finds. Where the database doesn't answer nothing is offered, and nothing is said: the
// line belongs to who types. one: only the first argument is completed.
func fromDatabase(env cli.Environment, read completing, one bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const files = cobra.ShellCompDirectiveNoFileComp
		if one && len(args) > 0 {
			return nil, files
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		s, err := completionStore(ctx, cmd, env)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil, files
		}
		defer s.Close()
		words, err := read(ctx, s)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		var offered []cobra.Completion
		for _, w := range words {
			if w.text != "" && strings.HasPrefix(w.text, typed) && cli.Printable(w.text) == w.text {
				offered = append(offered, cobra.CompletionWithDesc(w.text, cli.Printable(w.about)))
			}
		}
		return offered, files
	}
}

// completionStore opens the database that the flags before the cursor, or the variables, name.
func completionStore(ctx context.Context, cmd *cobra.Command, env cli.Environment) (*store.Store, error) {
	if err := cli.ApplyEnvironment(cmd, env.Lookup); err != nil {
		return nil, err
	}
	c := newClient(env)
	for name, value := range map[string]*string{"database-url": &c.database.URL, "direct-url": &c.database.DirectURL} {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			*value = flag.Value.String()
		}
	}
	if err := c.database.Resolve(c.lookup); err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Config{URL: c.database.DirectURL, MaxConns: 1})
}

func bare(texts []string) []word {
	words := make([]word, len(texts))
	for i, text := range texts {
		words[i] = word{text: text}
	}
	return words
}

// named are a row's name and its id; a name that another row has stands for neither.
func named(words []word, seen map[string]bool, id int64, name, about string) []word {
	if name != "" && !seen[name] {
		words = append(words, word{name, about})
	}
	seen[name] = true
	return append(words, word{strconv.FormatInt(id, 10), strings.TrimSpace(name + " " + about)})
}

func planWords(ctx context.Context, s *store.Store) ([]word, error) {
	plans, err := s.ListPlans(ctx, store.PlanFilter{Limit: maxCompleted})
	var words []word
	seen := map[string]bool{}
	for _, plan := range plans {
		words = named(words, seen, plan.ID, plan.Name, standing(plan.Status, plan.Paused))
	}
	return words, err
}

func taskWords(definitions bool) completing {
	return func(ctx context.Context, s *store.Store) ([]word, error) {
		tasks, err := s.ListTasks(ctx, store.TaskFilter{Definitions: definitions, Limit: maxCompleted})
		var words []word
		seen := map[string]bool{}
		for _, task := range tasks {
			words = named(words, seen, task.ID, task.Name, task.Type+" "+standing(task.Status, task.Paused))
		}
		return words, err
	}
}

func scheduleWords(ctx context.Context, s *store.Store) ([]word, error) {
	found, err := s.ListSchedules(ctx, maxCompleted)
	var words []word
	seen := map[string]bool{}
	for _, schedule := range found {
		words = named(words, seen, schedule.TaskID, schedule.Name, schedule.Schedule)
	}
	return words, err
}

func webhookWords(ctx context.Context, s *store.Store) ([]word, error) {
	webhooks, err := s.ListWebhooks(ctx, "")
	var words []word
	seen := map[string]bool{}
	for _, webhook := range webhooks {
		words = named(words, seen, webhook.ID, webhook.Name, "of project "+webhook.Project)
	}
	return words, err
}

// runWords are the runs that a command is likely to be about.
func runWords(command string) completing {
	return func(ctx context.Context, s *store.Store) ([]word, error) {
		filter := store.RunFilter{Limit: maxCompleted}
		switch command {
		case "cancel", "why", "wait":
			filter.Statuses = []string{"PENDING", "AVAILABLE", "RUNNING"}
		case "retry":
			filter.FailedForGood = true
		}
		runs, err := s.ListRuns(ctx, filter)
		var words []word
		now := time.Now()
		for _, run := range runs {
			words = append(words, word{strconv.FormatInt(run.ID, 10), taskOf(run) + " " + run.Status + " " + cli.Age(now, &run.UpdatedAt)})
		}
		if command == "retry" || command == "cancel" || err != nil {
			return words, err
		}
		tasks, err := taskWords(true)(ctx, s)
		return append(words, tasks...), err
	}
}

func replicaWords(ctx context.Context, s *store.Store) ([]word, error) {
	status, err := s.Status(ctx)
	var words []word
	for _, r := range status.Replicas {
		words = append(words, word{shortReplica(r.ReplicaID), r.State}, word{r.Name, r.State})
	}
	return words, err
}

func typeWords(ctx context.Context, s *store.Store) ([]word, error) {
	known, err := s.KnownWords(ctx)
	words := bare(known.Types)
	for _, builtIn := range builtInTypes() {
		if !strings.Contains(" "+strings.Join(known.Types, " ")+" ", " "+builtIn+" ") {
			words = append(words, word{text: builtIn})
		}
	}
	return words, err
}
