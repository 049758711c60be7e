package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// previewSample is how many targets a preview shows.
	previewSample = 20
	// countPatience is how long is counted for a preview.
	countPatience = 2 * time.Second
	maxCount      = 10000
)

// preview is what an act would do.
type preview struct {
	Count  int      `json:"count"`
	Capped bool     `json:"capped"`
	Sample []sample `json:"sample"`
	Says   says     `json:"says"`
}

type sample struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

// says is a preview in words: a key for the page's own, and English.
type says struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// searchOf is the filter of an act, narrowed to what it can act on; nil where it names ids. none: nothing can match.
func (a *API) searchOf(ctx context.Context, r *actRequest) (search json.RawMessage, none bool, err error) {
	if r.On.Filter == nil {
		return nil, false, nil
	}
	w := filterWords(r.On.Filter)
	if status, ok := r.On.Filter["status"]; ok && status == "" {
		w.fail("status", `""`, "the statuses that are meant, or no such word")
	}
	var filter any
	switch r.On.Kind {
	case "run":
		f, nobody, err := a.runSearch(ctx, w)
		if err != nil {
			return nil, false, err
		}
		w.known = append(w.known, "order")
		f.Statuses, none = narrowed(f.Statuses, touches(r.Act))
		f.Unretried = f.Unretried || r.Act == "retry"
		none = none || nobody
		filter = f
	case "task":
		f, err := a.taskSearch(w)
		if err != nil {
			return nil, false, err
		}
		f.Statuses, none = narrowed(f.Statuses, touches(r.Act))
		filter = f
	case "plan":
		f := planSearch(w)
		narrowPlans(&f, r.Act)
		filter = f
	default:
		f := deliverySearch(w)
		f.Statuses, none = narrowed(f.Statuses, []string{"DELIVERED", "EXHAUSTED", "DISABLED"})
		filter = f
	}
	if err := w.done(); err != nil {
		return nil, false, err
	}
	if none { // an act that finds nothing is one all the same
		filter = map[string][]string{"statuses": {}}
	}
	search, err = json.Marshal(filter)
	return search, none, err
}

// touches are the statuses of what an act can be done to; nil: any.
func touches(verb string) []string {
	switch verb {
	case "retry":
		return []string{"FAILED", "CANCELED"}
	case "cancel":
		return []string{"PENDING", "AVAILABLE", "RUNNING"}
	case "abandon":
		return []string{"RUNNING"}
	case "skip":
		return []string{"NOT_STARTED", "PENDING", "FAILED", "CANCELED", "DONE"}
	case "unskip":
		return []string{"SKIPPED"}
	}
	return nil
}

// narrowed are the statuses asked for among those possible; none: there is none left.
func narrowed(asked, possible []string) (left []string, none bool) {
	switch {
	case possible == nil:
		return asked, false
	case asked == nil:
		return possible, false
	}
	left = slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return !slices.Contains(possible, s) })
	return left, len(left) == 0
}

// count counts what a filter names, as far as that goes in two seconds.
func (a *API) count(ctx context.Context, kind string, search json.RawMessage, none bool) (n int, capped bool, err error) {
	if none {
		return 0, false, nil
	}
	return a.store.CountFound(ctx, kind, search, maxCount, countPatience)
}

func (a *API) preview(ctx context.Context, r *actRequest, search json.RawMessage, none bool) (p preview, err error) {
	p.Sample = []sample{}
	switch {
	case r.On.Filter != nil:
		if p.Count, p.Capped, err = a.count(ctx, r.On.Kind, search, none); err != nil {
			return p, err
		}
		if !none {
			err = a.sampleFilter(ctx, r.On.Kind, search, &p)
		}
	case r.On.Kind == "run", r.On.Kind == "task":
		err = a.sampleIDs(ctx, r, &p)
	case r.On.Kind == "plan":
		err = a.samplePlans(ctx, r, &p)
	case r.On.Kind == "limit":
		err = a.sampleLimits(ctx, r, &p)
	default:
		p.Count = len(r.On.IDs)
		for _, id := range r.On.IDs[:min(len(r.On.IDs), previewSample)] {
			p.Sample = append(p.Sample, sample{ID: id})
		}
	}
	what := r.On.Kind
	if r.On.Kind == "plan" && r.On.Filter == nil && (r.ofWaves() || slices.Contains([]string{"run", "retry", "cancel"}, r.Act)) {
		what = "task"
	}
	number := strconv.Itoa(p.Count)
	if p.Capped {
		number = "at least " + number
	}
	p.Says = says{Key: r.Act + "." + r.On.Kind, Text: fmt.Sprintf("%s: %s %s", r.Act, number, plural(what, p.Count))}
	return p, err
}

func plural(word string, n int) string {
	switch {
	case n == 1:
		return word
	case word == "delivery":
		return "deliveries"
	}
	return word + "s"
}

func (p *preview) add(id int64, name, status string) {
	if len(p.Sample) < previewSample {
		p.Sample = append(p.Sample, sample{strconv.FormatInt(id, 10), name, status})
	}
}

func (a *API) sampleFilter(ctx context.Context, kind string, search json.RawMessage, p *preview) error {
	page := store.Page{Limit: previewSample, Oldest: true}
	switch kind {
	case "run":
		found, err := a.store.SearchRunsBy(ctx, search, page)
		for _, r := range found.Items {
			p.add(r.ID, r.Task, r.Status)
		}
		return err
	case "task":
		found, err := a.store.SearchTasksBy(ctx, search, page)
		for _, t := range found.Items {
			p.add(t.ID, t.Name, t.Status)
		}
		return err
	case "plan":
		return a.sampleFound(ctx, search, p)
	}
	found, err := a.store.SearchDeliveriesBy(ctx, search, page)
	for _, d := range found.Items {
		p.add(d.ID, text(d.Plan), d.Status)
	}
	return err
}

// sampleFound shows the first plans that a filter names.
func (a *API) sampleFound(ctx context.Context, search json.RawMessage, p *preview) error {
	ids, err := a.store.PlansFound(ctx, search, previewSample)
	for _, id := range ids {
		plan, err := a.store.FindBoardPlan(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound): // deleted meanwhile
		case err != nil:
			return err
		default:
			p.add(plan.ID, plan.Name, plan.Status)
		}
	}
	return err
}

// sampleIDs counts those of the named runs or tasks that the act can be done to.
func (a *API) sampleIDs(ctx context.Context, r *actRequest, p *preview) error {
	ids := make([]int64, len(r.On.IDs))
	for i, id := range r.On.IDs {
		ids[i], _ = parseID(id) // check has seen to it
	}
	possible := touches(r.Act)
	fits := func(status string) bool { return possible == nil || slices.Contains(possible, status) }
	if r.On.Kind == "run" {
		runs, err := a.store.BoardRunsOf(ctx, ids)
		for _, run := range runs {
			if fits(run.Status) && (r.Act != "retry" || run.RetryRunID == nil) && (r.Act != "cancel" || !run.CancelRequested) {
				p.Count++
				p.add(run.ID, run.Task, run.Status)
			}
		}
		return err
	}
	tasks, err := a.store.BoardTasksOf(ctx, ids)
	if err != nil {
		return err
	}
	canceling := map[int64]bool{}
	if r.Act == "cancel" {
		if canceling, err = a.canceling(ctx, tasks); err != nil {
			return err
		}
	}
	for _, t := range tasks {
		if fits(t.Status) && !canceling[t.ID] {
			p.Count++
			p.add(t.ID, t.Name, t.Status)
		}
	}
	return nil
}

// canceling are the tasks whose newest run was asked to end.
func (a *API) canceling(ctx context.Context, tasks []store.BoardTask) (map[int64]bool, error) {
	var ids []int64
	for _, t := range tasks {
		if t.Status == "RUNNING" && t.RunID != nil {
			ids = append(ids, *t.RunID)
		}
	}
	runs, err := a.store.BoardRunsOf(ctx, ids)
	of := map[int64]bool{}
	for _, r := range runs {
		of[r.TaskID] = r.CancelRequested
	}
	return of, err
}

func (a *API) samplePlans(ctx context.Context, r *actRequest, p *preview) error {
	for _, one := range r.On.IDs[:min(len(r.On.IDs), maxLimit)] {
		id, _ := parseID(one) // check has seen to it
		plan, err := a.store.FindBoardPlan(ctx, id)
		if err != nil {
			return err
		}
		switch c := plan.Counts; r.Act {
		case "run":
			p.Count += int(c.NotStarted)
		case "retry":
			p.Count += int(c.Failed + c.Canceled)
		case "cancel", "give_up":
			p.Count += int(c.Pending + c.Available + c.Running)
		case "resume_wave", "roll_on":
			n, err := a.inWave(ctx, id, r)
			if err != nil {
				return err
			}
			p.Count += n
		default:
			p.Count++
		}
		p.add(plan.ID, plan.Name, plan.Status)
	}
	p.Capped = len(r.On.IDs) > maxLimit
	return nil
}

// inWave counts what an act on a plan's waves touches: what has failed in the wave that was opened last, or the tasks of the next one,
// unless another one was asked for.
func (a *API) inWave(ctx context.Context, plan int64, r *actRequest) (int, error) {
	waves, err := a.store.PlanWaves(ctx, plan)
	last := slices.IndexFunc(waves, func(w store.PlanWave) bool { return w.OpenedAt == nil })
	verb := r.Act
	switch {
	case err != nil || len(waves) == 0:
		return 0, err
	case r.Args.Wave != nil && (last < 0 || waves[last].Wave != *r.Args.Wave):
		return 0, nil
	case verb == "roll_on" && last >= 0:
		return int(waves[last].Tasks), nil
	case verb == "roll_on" || last == 0: // all are open, or none is
		return 0, nil
	case last < 0:
		last = len(waves)
	}
	return int(waves[last-1].Failed), nil
}
