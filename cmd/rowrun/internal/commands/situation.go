package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

const (
	// maxSituation is how many rows of each part one screen has.
	maxSituation = 5
	// maxSampled is how many RUNNING runs are read to find those that run longest.
	maxSampled = 100
)

// situation is what one screen of status says besides counts.
type situation struct {
	// Problems are sentences; none: all is well.
	Problems []string     `json:"problems"`
	Longest  []store.Run  `json:"running_longest"`
	Waiting  []waitingFor `json:"waiting"`
	Sampled  int          `json:"waiting_sampled"` // of how many runs that wait it was asked
	Failed   []store.Run  `json:"failed_last"`
	// Recovery is the recovery from an outage that is under way, nil: none is.
	Recovery *store.Recovery `json:"recovery"`
	now      time.Time
}

// waitingFor is a cause for which runs wait.
type waitingFor struct {
	Cause   string `json:"cause"`
	Runs    int    `json:"runs"`
	RunID   int64  `json:"run_id"` // one of them, and what is said of it
	Message string `json:"message"`
}

// readSituation asks what runs, waits and failed. What it reads is bounded, whatever the tables hold.
func readSituation(ctx context.Context, s *store.Store, schema int64, status store.Status) (situation, error) {
	now := situation{Problems: []string{}, Waiting: []waitingFor{}, now: time.Now()}
	running, err := s.ListRuns(ctx, store.RunFilter{Statuses: []string{"RUNNING"}, Limit: maxSampled})
	if err != nil {
		return now, err
	}
	slices.SortStableFunc(running, func(a, b store.Run) int { return began(a).Compare(began(b)) })
	now.Longest = running[:min(len(running), maxSituation)]
	if now.Failed, err = s.ListRuns(ctx, store.RunFilter{FailedForGood: true, Limit: maxSituation}); err != nil {
		return now, err
	}
	var ids []int64
	for _, status := range []string{"AVAILABLE", "PENDING"} { // each for itself, so that many of one don't hide the other
		waiting, err := s.ListRuns(ctx, store.RunFilter{Statuses: []string{status}, Limit: maxExplained, Sample: true})
		if err != nil {
			return now, err
		}
		for _, run := range waiting {
			ids = append(ids, run.ID)
		}
	}
	now.Sampled = len(ids)
	if len(ids) > 0 {
		causes, err := s.WaitingRuns(ctx, ids)
		if err != nil {
			return now, err
		}
		now.Waiting = byCause(causes)
	}
	health, err := s.Health(ctx)
	if err != nil {
		return now, err
	}
	now.Recovery = health.Recovery
	now.judge(schema, status, health)
	worries, err := s.LimitWorries(ctx)
	if err != nil {
		return now, err
	}
	for _, w := range worries {
		if w.Serious() {
			now.Problems = append(now.Problems, w.Text()+": `rowrun limit list`")
		}
	}
	return now, nil
}

func began(run store.Run) time.Time {
	if run.StartedAt != nil {
		return *run.StartedAt
	}
	return run.UpdatedAt
}

// byCause counts runs by the cause that holds them, the one that holds most first.
func byCause(causes []store.Cause) []waitingFor {
	var found []waitingFor
	for _, cause := range causes {
		i := slices.IndexFunc(found, func(w waitingFor) bool { return w.Cause == cause.Cause })
		if i < 0 {
			found = append(found, waitingFor{Cause: cause.Cause, RunID: cause.RunID, Message: cause.Message})
			i = len(found) - 1
		}
		found[i].Runs++
	}
	slices.SortStableFunc(found, func(a, b waitingFor) int { return cmp.Compare(b.Runs, a.Runs) })
	return found
}

// judge says what somebody should look at.
func (n *situation) judge(schema int64, status store.Status, health store.Health) {
	say := func(format string, args ...any) { n.Problems = append(n.Problems, fmt.Sprintf(format, args...)) }
	live := 0
	for _, r := range status.Replicas {
		switch {
		case r.Live && r.Role == store.RoleAdmin:
		case r.Live:
			live++
		case r.State != "DEAD":
			say("replica %s is silent for too long", r.ReplicaID)
		}
	}
	if live == 0 {
		say("no replica lives: start one with `rowrun serve`")
	}
	if schema != int64(migrations.Version()) {
		say("the schema is at version %d, this program's at %d: `rowrun migrate status`", schema, migrations.Version())
	}
	if status.NotifyQueue >= store.NotifyQueueLimit {
		say("the server's notification queue is %.0f %% full: nothing is notified until it drains, runs are found by sweeps", status.NotifyQueue*100)
	}
	if health.Overdue > 0 {
		say("%d runs are due and nobody has looked at them for %s", health.Overdue, health.OverdueFor.Round(time.Second))
	}
	if health.Recovery != nil {
		say("%s", recoveryText(health.Recovery))
	}
	if health.Orphans > 0 {
		say("%d runs of %d types are for no live replica: `rowrun type list`", health.Orphans, health.OrphanTypes)
	}
	if health.StoppedSchedules > 0 {
		say("%d schedules have paused themselves: `rowrun schedule list`", health.StoppedSchedules)
	}
	if status.FailedLastDay > 0 {
		say("%d failed for good in the last 24 hours: `rowrun run list --failed`", status.FailedLastDay)
	}
}

// recoveryText is a sentence about a recovery that is under way.
func recoveryText(r *store.Recovery) string {
	more := ""
	if r.Backlog >= store.MaxBacklog {
		more = " or more"
	}
	said := fmt.Sprintf("recovery from an outage of %s: %d of %d%s overdue runs are left", r.BeganAt.Sub(r.LastSeen).Round(time.Second), r.Remaining, r.Backlog, more)
	if r.EstimatedEnd == nil {
		return said
	}
	return said + fmt.Sprintf("; %.0f/s, done in about %s", r.Rate, r.EstimatedEnd.Sub(r.CountedAt).Round(time.Second))
}

// fitted keeps a line on a screen.
func fitted(screen cli.Screen, line string) string {
	if screen.Width == 0 {
		return line
	}
	return cli.Cut(line, screen.Width)
}

// verdict is the first line of the screen: is it well.
func verdict(screen cli.Screen, problems []string) string {
	mark := func(status, icon, text string) string {
		if !screen.Symbols {
			return fitted(screen, text)
		}
		return screen.Sgr(status, fitted(screen, icon+" "+text))
	}
	if len(problems) == 0 {
		return mark("32", "✓", "well")
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = mark("33", "▲", cli.Printable(problem))
	}
	return strings.Join(lines, "\n")
}

func (n *situation) runningTable(all int64) cli.Table {
	t := cli.Table{Columns: []cli.Column{cli.Whole("RUNNING"), cli.Free("TASK"), cli.Free("TYPE").Spare(), cli.Whole("SINCE"), cli.Free("REPLICA").Spare()}}
	for _, run := range n.Longest {
		at := began(run)
		t.Rows = append(t.Rows, []string{strconv.FormatInt(run.ID, 10), taskOf(run), run.Type, cli.Age(n.now, &at), shortReplica(text(run.ReplicaID))})
	}
	if more := all - int64(len(n.Longest)); more > 0 && len(n.Longest) > 0 {
		t.Note = fmt.Sprintf("… and %d more: rowrun run list --status RUNNING", more)
	}
	return t
}

func (n *situation) waitingTable() cli.Table {
	t := cli.Table{Columns: []cli.Column{cli.Whole("WAITING FOR"), cli.Whole("RUNS"), cli.Whole("SUCH AS"), cli.Free("WHY")}}
	for _, w := range n.Waiting {
		t.Rows = append(t.Rows, []string{w.Cause, strconv.Itoa(w.Runs), "run " + strconv.FormatInt(w.RunID, 10), w.Message})
	}
	if n.Sampled >= maxExplained {
		t.Note = fmt.Sprintf("… asked of %d that wait", n.Sampled)
	}
	return t
}

func (n *situation) failedTable() cli.Table {
	t := cli.Table{Columns: []cli.Column{cli.Whole("FAILED"), cli.Free("TASK"), cli.Whole("SINCE"), cli.Free("DETAIL")}}
	for _, run := range n.Failed {
		t.Rows = append(t.Rows, []string{strconv.FormatInt(run.ID, 10), taskOf(run), cli.Age(n.now, &run.UpdatedAt), ending(run)})
	}
	return t
}
