package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

// planSearch reads the words that name plans.
func planSearch(w *words) store.PlanWords {
	return store.PlanWords{Statuses: w.choices("status", statuses.OfPlans()), Name: w.text("q"), Project: w.text("project")}
}

// narrowPlans leaves those plans on which the act finds something to do.
func narrowPlans(f *store.PlanWords, verb string) {
	switch verb {
	case "run":
		f.Having = []string{"NOT_STARTED"}
	case "retry", "cancel":
		f.Having = touches(verb)
	case "pause", "resume":
		paused := verb == "resume"
		f.Paused = &paused
	}
}

func (s *server) listPlans(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	words := planSearch(w)
	f := store.PlanSearch{Statuses: words.Statuses, Name: words.Name, Project: words.Project}
	p := w.page()
	if err := w.done(); err != nil {
		return nil, err
	}
	found, err := s.store.SearchPlans(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return listed(found), nil
}

// planPage is a plan with all that its page shows beside the grid.
type planPage struct {
	store.BoardPlan
	Webhooks     []planWebhook            `json:"webhooks"`
	Announcement *store.BoardAnnouncement `json:"announcement"`
	Waves        []store.PlanWave         `json:"waves"` // none: it isn't applied in waves
	Throughput   float64                  `json:"throughput_per_minute"`
	ETA          *store.Instant           `json:"eta"`
	May          may                      `json:"may"`
}

type planWebhook struct {
	ID      int64    `json:"id,string"`
	Name    string   `json:"name"`
	Format  string   `json:"format"`
	Enabled bool     `json:"enabled"`
	Events  []string `json:"events"`
}

func (s *server) getPlan(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	g, err := s.grids.of(ctx, s.store, id)
	if err != nil {
		return nil, err
	}
	page, err := g.head.get(ctx, func(ctx context.Context) (planPage, error) { return s.readPlan(ctx, g) })
	if err != nil {
		return nil, err
	}
	if s.mayAct(ctx, who) {
		page.May = may{Author: true, Operator: true}
	}
	return page, nil
}

// readPlan reads what a plan's page shows beside the grid.
func (a *API) readPlan(ctx context.Context, g *grid) (planPage, error) {
	plan, err := a.store.FindBoardPlan(ctx, g.plan)
	page := planPage{BoardPlan: plan, Webhooks: []planWebhook{}}
	if err != nil {
		return page, err
	}
	if page.Announcement, err = a.store.BoardAnnouncement(ctx, g.plan); err != nil {
		return page, err
	}
	waves, err := a.store.PlanWaves(ctx, g.plan)
	if err != nil {
		return page, err
	}
	page.Waves = append([]store.PlanWave{}, waves...)
	hooks, err := a.store.BoardWebhooks(ctx, plan.Project, 0, store.Page{Limit: maxLimit})
	for _, h := range hooks {
		page.Webhooks = append(page.Webhooks, planWebhook{h.ID, h.Name, h.Format, h.Enabled, h.Events})
	}
	g.pace(&page)
	return page, err
}

// paceTime is over which time ends are counted.
const paceTime = 5 * time.Minute

// pace says since when a plan's runs have gone, how many of them end in a minute, and when the last would at that pace.
func (g *grid) pace(p *planPage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var first, last, now time.Time
	ended, open := 0, 0
	for i := range g.tasks {
		t := &g.tasks[i]
		now = t.Now
		if t.StartedAt != nil && (first.IsZero() || t.StartedAt.Before(first)) {
			first = *t.StartedAt
		}
		if t.EndedAt != nil && t.EndedAt.After(last) {
			last = *t.EndedAt
		}
		if t.EndedAt != nil && t.Now.Sub(*t.EndedAt) < paceTime {
			ended++
		}
		if t.Status == "PENDING" || t.Status == "AVAILABLE" || t.Status == "RUNNING" {
			open++
		}
	}
	if !first.IsZero() {
		p.StartedAt = &store.Instant{Time: first}
	}
	if open == 0 && !last.IsZero() {
		p.EndedAt = &store.Instant{Time: last}
	}
	span := paceTime
	if !first.IsZero() && now.Sub(first) < span {
		span = max(now.Sub(first), time.Second)
	}
	p.Throughput = float64(ended) / span.Minutes()
	if open > 0 && ended > 0 {
		p.ETA = &store.Instant{Time: now.Add(time.Duration(float64(open) / float64(ended) * float64(span)))}
	}
}

// maxEdges is how many dependencies are shown.
const maxEdges = 50000

func (s *server) getEdges(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	w := query(r)
	task := w.id("task")
	if err := w.done(); err != nil {
		return nil, err
	}
	edges, err := s.store.Edges(ctx, id, task, maxEdges+1)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Task      []string `json:"task"`
		DependsOn []string `json:"depends_on"`
		Capped    bool     `json:"capped"`
	}{[]string{}, []string{}, len(edges) > maxEdges}
	for _, e := range edges[:min(len(edges), maxEdges)] {
		answer.Task = append(answer.Task, strconv.FormatInt(e.TaskID, 10))
		answer.DependsOn = append(answer.DependsOn, strconv.FormatInt(e.DependsOn, 10))
	}
	return answer, nil
}

// moments are what happened in a plan, in columns.
type moments struct {
	RunID     []string `json:"run_id"`
	TaskID    []string `json:"task_id"`
	Attempt   []int    `json:"attempt"`
	Created   []int64  `json:"created"`
	Available []*int64 `json:"available"`
	Started   []*int64 `json:"started"`
	Ended     []*int64 `json:"ended"`
	Status    []string `json:"status"`
	Next      *string  `json:"next"`
}

// maxMoments is how many runs one answer has: it is columns of numbers.
const maxMoments = 2000

func (s *server) getTransitions(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	w := query(r)
	limit := w.limit(maxMoments)
	var after int64
	if key := w.cursor(1); key != nil {
		after = key[0]
	}
	if err := w.done(); err != nil {
		return nil, err
	}
	runs, err := s.store.PlanMoments(ctx, id, after, limit)
	if err != nil {
		return nil, err
	}
	m := moments{
		RunID: []string{}, TaskID: []string{}, Attempt: []int{}, Created: []int64{}, Available: []*int64{}, Started: []*int64{},
		Ended: []*int64{}, Status: []string{},
	}
	for _, run := range runs {
		m.RunID, m.TaskID = append(m.RunID, strconv.FormatInt(run.RunID, 10)), append(m.TaskID, strconv.FormatInt(run.TaskID, 10))
		m.Attempt, m.Created = append(m.Attempt, run.Attempt), append(m.Created, run.Created.UnixMilli())
		m.Available, m.Started, m.Ended = append(m.Available, millis(run.Available)), append(m.Started, millis(run.Started)), append(m.Ended, millis(run.Ended))
		m.Status = append(m.Status, letter(run.Status))
	}
	if len(runs) == limit {
		m.Next = cursor(runs[limit-1].RunID)
	}
	return m, nil
}

func millis(at *time.Time) *int64 {
	if at == nil {
		return nil
	}
	ms := at.UnixMilli()
	return &ms
}

// planPreview is what an act on a plan would do.
type planPreview struct {
	Count  int           `json:"count"`
	Sample []previewTask `json:"sample"`
}

type previewTask struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	DatabaseID *string `json:"database_id"`
	Version    *string `json:"version"`
	Status     string  `json:"status"`
}

// touchesInPlan says whether run, retry or cancel of a plan would touch a task of that status. Run begins what has not begun; the
// same act on a task by its id begins another run of any.
func touchesInPlan(verb, status string) bool {
	if verb == "run" {
		return status == "NOT_STARTED"
	}
	return slices.Contains(touches(verb), status)
}

func (s *server) getPreview(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.store.FindBoardPlan(ctx, id); err != nil {
		return nil, err
	}
	tasks, err := s.store.Grid(ctx, id)
	if err != nil {
		return nil, err
	}
	answer := map[string]*planPreview{}
	for _, verb := range []string{"run", "retry", "cancel"} {
		p := &planPreview{Sample: []previewTask{}}
		for i := range tasks {
			t := &tasks[i]
			if !touchesInPlan(verb, t.Status) {
				continue
			}
			p.Count++
			if len(p.Sample) < maxLimit {
				p.Sample = append(p.Sample, previewTask{strconv.FormatInt(t.ID, 10), t.Name, some(t.DatabaseID), some(t.Version), t.Status})
			}
		}
		answer[verb] = p
	}
	return answer, nil
}

// some is nil for an empty text.
func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
