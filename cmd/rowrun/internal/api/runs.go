package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

// runSearch reads the words that name runs. none: no run can have them.
func (a *API) runSearch(ctx context.Context, w *words) (f store.RunSearch, none bool, err error) {
	f = store.RunSearch{
		Statuses: w.choices("status", statuses.OfRuns()), Type: w.text("type"), Queue: w.text("queue"), DatabaseID: w.text("database"),
		PlanID: w.id("plan"), Text: w.text("text"), Error: w.text("error"), Since: w.moment("since"), Until: w.moment("until"), Failed: w.flag("failed"), ActID: w.id("act"),
	}
	task := w.text("task")
	if a.config.HideData && (f.Text != "" || f.Error != "") {
		w.fail("text", "with --ui-hide-data a search in failures", "no text and no error")
	}
	if w.err != nil || task == "" {
		return f, false, w.err
	}
	ids, err := a.store.NamedTasks(ctx, task)
	if err != nil {
		return f, false, err
	}
	for _, id := range ids {
		f.TaskIDs = append(f.TaskIDs, strconv.FormatInt(id, 10))
	}
	return f, len(ids) == 0, nil
}

func (s *server) listRuns(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	f, none, err := s.runSearch(ctx, w)
	if err != nil {
		return nil, err
	}
	order := w.choice("order", "newest", "oldest")
	if f.Failed && order != "oldest" && f.ActID == 0 {
		return s.listFailed(ctx, w, f, none)
	}
	p := w.page()
	p.Oldest = order == "oldest"
	if err := w.done(); err != nil {
		return nil, err
	}
	if none {
		return list[store.BoardRun]{Items: []store.BoardRun{}}, nil
	}
	found, err := s.store.SearchRuns(ctx, f, p)
	if err != nil {
		return nil, err
	}
	s.hideRuns(found.Items)
	return listed(found), nil
}

// listFailed lists what failed for good, the last to fail first: its key is the end and the id.
func (s *server) listFailed(ctx context.Context, w *words, f store.RunSearch, none bool) (any, error) {
	limit := w.limit(maxLimit)
	var after *store.FailedAfter
	if key := w.cursor(2); key != nil {
		after = &store.FailedAfter{Micros: key[0], ID: key[1]}
	}
	if err := w.done(); err != nil {
		return nil, err
	}
	answer := list[store.BoardRun]{Items: []store.BoardRun{}}
	if none {
		return answer, nil
	}
	runs, next, at, err := s.store.FailedRuns(ctx, f, after, limit)
	if err != nil {
		return nil, err
	}
	answer.Items, answer.SearchedTo = append(answer.Items, runs...), at
	s.hideRuns(answer.Items)
	if next != nil {
		answer.Next = cursor(next.Micros, next.ID)
	}
	return answer, nil
}

// hideRuns takes out of runs what --ui-hide-data doesn't show.
func (a *API) hideRuns(runs []store.BoardRun) {
	if !a.config.HideData {
		return
	}
	for i := range runs {
		runs[i].Detail, runs[i].Progress = nil, nil
	}
}

// logPage is a page of a run's log.
type logPage struct {
	Items []store.BoardLogEntry `json:"items"`
	Next  *string               `json:"next"`
}

// logOf reads a page of a run's log. While the run is unfinished there is always a next one, to ask for what comes.
func (a *API) logOf(ctx context.Context, run int64, after int64, limit int, unfinished bool) (logPage, error) {
	page := logPage{Items: []store.BoardLogEntry{}}
	if a.config.HideData {
		return page, nil
	}
	entries, err := a.store.BoardLog(ctx, run, after, limit)
	if err != nil {
		return page, err
	}
	page.Items = append(page.Items, entries...)
	if len(entries) > 0 {
		after = entries[len(entries)-1].ID
	}
	if len(entries) == limit || unfinished {
		page.Next = cursor(after)
	}
	return page, nil
}

func (s *server) getLog(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	w := query(r)
	p := w.page()
	if err := w.done(); err != nil {
		return nil, err
	}
	run, err := s.store.FindRun(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.logOf(ctx, id, p.After, p.Limit, !run.Ended())
}
