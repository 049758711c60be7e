package commands

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// maxExplained is of how many of a plan's runs it is asked what they wait for: people read no more of them.
const maxExplained = 100

// shownPlan is all that there is to say of a plan.
type shownPlan struct {
	store.Plan
	Announcement *store.Announcement `json:"announcement"` // of the current round; null: none yet
	Waves        []store.PlanWave    `json:"waves"`        // none: it isn't applied in waves
	TaskList     []shownTask         `json:"task_list"`
	TasksMore    bool                `json:"tasks_more"` // there are further tasks
}

// shownTask is a task of a plan.
type shownTask struct {
	store.PlanTask
	Waiting []store.Cause `json:"waiting"`
}

func (p *planCommand) show() *cobra.Command {
	limit := 200
	cmd := p.about(planRow, &cobra.Command{
		Use:   "show ID|NAME",
		Short: "Show all of a plan: its tasks, what they wait for, and what was announced",
		Long: "Show all of a plan. Its tasks stand behind those that they depend on, and otherwise in the order of their\n" +
			"versions. It is asked of the first " + strconv.Itoa(maxExplained) + " that wait what they wait for; rowrun run why tells it of any.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		shown, err := readPlan(ctx, s, id, limit)
		if err != nil {
			return err
		}
		if !p.out.ForPeople() {
			return p.out.Write(cmd, shown, idTable(id))
		}
		return p.writeShown(cmd.OutOrStdout(), shown)
	})
	cmd.Flags().IntVar(&limit, "limit", limit, "most tasks to show")
	ask := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		return ask(cmd, args)
	}
	return p.watched(cmd)
}

func readPlan(ctx context.Context, s *store.Store, id int64, limit int) (shownPlan, error) {
	plan, err := findPlan(ctx, s, id)
	if err != nil {
		return shownPlan{}, err
	}
	shown := shownPlan{Plan: plan, TaskList: []shownTask{}}
	if shown.Announcement, err = s.Announcement(ctx, id); err != nil {
		return shown, err
	}
	if shown.Waves, err = s.PlanWaves(ctx, id); err != nil {
		return shown, err
	}
	tasks, err := s.PlanTasks(ctx, id, maxListed)
	if err != nil {
		return shown, err
	}
	byDependency(tasks)
	shown.TasksMore = int64(len(tasks)) < plan.Tasks || len(tasks) > limit
	tasks = tasks[:min(limit, len(tasks))]
	causes, err := explain(ctx, s, tasks)
	for _, task := range tasks {
		t := shownTask{task, []store.Cause{}}
		if task.LastRunID != nil && causes[*task.LastRunID] != nil {
			t.Waiting = causes[*task.LastRunID]
		}
		shown.TaskList = append(shown.TaskList, t)
	}
	return shown, err
}

// explain asks what the first of these tasks wait for, by run.
func explain(ctx context.Context, s *store.Store, tasks []store.PlanTask) (map[int64][]store.Cause, error) {
	var runs []int64
	for _, task := range tasks {
		if (task.Status == "PENDING" || task.Status == "AVAILABLE") && len(runs) < maxExplained {
			runs = append(runs, *task.LastRunID)
		}
	}
	if len(runs) == 0 {
		return nil, nil
	}
	causes, err := s.WaitingRuns(ctx, runs)
	byRun := map[int64][]store.Cause{}
	for _, cause := range causes {
		byRun[cause.RunID] = append(byRun[cause.RunID], cause)
	}
	return byRun, err
}

// byDependency puts tasks behind those that they depend on; those that nothing orders stay as they are.
func byDependency(tasks []store.PlanTask) {
	needs := make(map[int64][]int64, len(tasks))
	for _, task := range tasks {
		needs[task.ID] = task.DependsOn
	}
	depths := make(map[int64]int, len(tasks))
	var depth func(id int64) int
	depth = func(id int64) int {
		known, seen := depths[id]
		if seen {
			return known
		}
		depths[id] = 0 // the database refuses cycles; one that slipped in must not end the program
		deepest := 0
		for _, need := range needs[id] {
			deepest = max(deepest, depth(need)+1)
		}
		depths[id] = deepest
		return deepest
	}
	slices.SortStableFunc(tasks, func(a, b store.PlanTask) int { return depth(a.ID) - depth(b.ID) })
}

// writeShown writes a plan for people, in parts that are left out where they are empty.
func (p *planCommand) writeShown(w io.Writer, shown shownPlan) error {
	f := cli.NewFacts("PLAN", shown.ID)
	f.Add("status", standing(shown.Status, shown.Paused))
	f.Add("tasks", counts(shown.Plan))
	f.Add("project", shown.Project)
	f.Add("name", shown.Name)
	if shown.ParallelLimit != nil {
		f.Add("parallel limit", strconv.Itoa(*shown.ParallelLimit))
	}
	f.Add("on failure", shown.OnFailure)
	f.Add("round", strconv.Itoa(shown.Round))
	f.Exact("created", &shown.CreatedAt)
	deliveries := cli.Table{Columns: []cli.Column{
		cli.Whole("DELIVERY"), cli.Free("WEBHOOK"), cli.Whole("STATUS"), cli.Whole("ATTEMPTS"), cli.Whole("NEXT"), cli.Whole("RESPONSE").Spare(), cli.Free("ERROR"),
	}}
	if a := shown.Announcement; a == nil {
		f.Add("announced", "nothing in this round yet")
	} else {
		f.Add("announced", announced(a))
		for _, d := range a.Deliveries {
			deliveries.Rows = append(deliveries.Rows, delivery(d, time.Now()))
		}
	}
	tasks := cli.Table{Columns: []cli.Column{
		cli.Whole("TASK"), cli.Status(), cli.Free("NAME"), cli.Free("TYPE").Spare(), cli.Free("DATABASE"), cli.Free("VERSION"), cli.Free("DEPENDS ON"),
		cli.Whole("RUN"), cli.Free("WAITS FOR, OR DETAIL"),
	}}
	for _, task := range shown.TaskList {
		tasks.Rows = append(tasks.Rows, []string{
			strconv.FormatInt(task.ID, 10), standing(task.Status, task.Paused), task.Name, task.Type, text(task.DatabaseID),
			text(task.Version), ids(task.DependsOn), number(task.LastRunID), matter(task),
		})
	}
	if shown.TasksMore {
		tasks.Note = fmt.Sprintf("… %d of %d tasks: --limit, or rowrun task list --plan %d", len(shown.TaskList), shown.Tasks, shown.ID)
	}
	return p.out.WriteParts(w, f.Table, deliveries, waveTable(shown.Waves), tasks)
}

func announced(a *store.Announcement) string {
	text := fmt.Sprintf("%s in round %d, %s UTC", a.EventType, a.Round, cli.Moment(&a.DecidedAt))
	if a.RetryCount > 0 {
		text += fmt.Sprintf(", on retry %d", a.RetryCount)
	}
	if len(a.Deliveries) == 0 {
		text += "; no webhook wanted it"
	}
	return text
}

func delivery(d store.AnnouncedTo, now time.Time) []string {
	webhook, response, next := strconv.FormatInt(d.WebhookID, 10), "", ""
	if d.Webhook != "" {
		webhook += " " + d.Webhook
	}
	if d.ResponseCode != nil {
		response = strconv.Itoa(*d.ResponseCode)
	}
	if d.Status == "PENDING" {
		next = cli.Age(now, d.NextAttemptAt)
	}
	return []string{strconv.FormatInt(d.DeliveryID, 10), webhook, d.Status, strconv.Itoa(d.Attempts), next, response, text(d.LastError)}
}

// matter is what a task waits for, why it was skipped, or how its last run ended.
func matter(task shownTask) string {
	if len(task.Waiting) > 0 {
		more := ""
		if len(task.Waiting) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(task.Waiting)-1)
		}
		return task.Waiting[0].Cause + ": " + task.Waiting[0].Message + more
	}
	return upshot(task.Task)
}

// upshot is why a task was skipped, or how its last run ended.
func upshot(task store.Task) string {
	switch task.Status {
	case "SKIPPED":
		return text(task.SkipReason)
	case "FAILED", "CANCELED":
		return strings.TrimPrefix(text(task.Code)+": "+text(task.Detail), ": ")
	}
	return ""
}

func ids(values []int64) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = strconv.FormatInt(value, 10)
	}
	return strings.Join(words, ",")
}
