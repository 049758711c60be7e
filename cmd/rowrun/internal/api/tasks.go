package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

// taskSearch reads the words that name tasks.
func (a *API) taskSearch(w *words) (store.TaskSearch, error) {
	f := store.TaskSearch{
		Name: w.text("q"), Type: w.text("type"), Statuses: w.choices("status", statuses.OfTasks()), DatabaseID: w.text("database"),
		Version: w.text("version"), Text: w.text("text"), Error: w.text("error"), Attention: w.flag("attention"),
	}
	if w.values["plan"] == "none" {
		f.Definitions = w.text("plan") != ""
	} else {
		f.PlanID = w.id("plan")
	}
	if a.config.HideData && (f.Text != "" || f.Error != "") {
		w.fail("text", "with --ui-hide-data a search in failures", "no text and no error")
	}
	return f, w.err
}

func (s *server) listTasks(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	f, err := s.taskSearch(w)
	if err != nil {
		return nil, err
	}
	p := w.page()
	if err := w.done(); err != nil {
		return nil, err
	}
	found, err := s.store.SearchTasks(ctx, f, p)
	if err != nil {
		return nil, err
	}
	if s.config.HideData {
		for i := range found.Items {
			found.Items[i].Detail = nil
		}
	}
	return listed(found), nil
}

// taskPage is a task with all that its page shows.
type taskPage struct {
	store.BoardTaskDetails
	Runs    []store.BoardRun `json:"runs"`
	Hidden  bool             `json:"hidden"`
	May     mayTask          `json:"may"`
	SQL     string           `json:"sql"`
	Command string           `json:"command"`
}

type mayTask struct {
	Run    bool `json:"run"`
	Retry  bool `json:"retry"`
	Cancel bool `json:"cancel"`
	Skip   bool `json:"skip"`
	Unskip bool `json:"unskip"`
	Pause  bool `json:"pause"`
	Resume bool `json:"resume"`
}

func (s *server) getTask(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = query(r).done()
	}
	if err != nil {
		return nil, err
	}
	found, err := s.store.FindBoardTask(ctx, id)
	if err != nil {
		return nil, err
	}
	name := strconv.FormatInt(id, 10)
	runs, err := s.store.SearchRuns(ctx, store.RunSearch{TaskIDs: []string{name}}, store.Page{Limit: 20})
	if err != nil {
		return nil, err
	}
	page := taskPage{BoardTaskDetails: found, Runs: runs.Items, Hidden: s.config.HideData}
	unfinished := found.Status == "PENDING" || found.Status == "AVAILABLE" || found.Status == "RUNNING"
	if s.mayAct(ctx, who) {
		page.May = mayTask{
			Run:    !found.Skipped && (found.PlanID == nil || !unfinished),
			Retry:  found.Status == "FAILED" || found.Status == "CANCELED",
			Cancel: unfinished, Skip: !found.Skipped && found.Status != "AVAILABLE" && found.Status != "RUNNING", Unskip: found.Skipped,
			Pause: !found.Paused, Resume: found.Paused,
		}
	}
	page.SQL, page.Command = "SELECT rowrun.run_tasks('{"+name+"}');", "rowrun run create "+name
	if s.config.HideData {
		page.Payload, page.Labels, page.Detail = nil, nil, nil
		s.hideRuns(page.Runs)
	}
	return page, nil
}

func (s *server) listTypes(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	if err := query(r).done(); err != nil {
		return nil, err
	}
	types, err := s.store.BoardTypes(ctx)
	return items[store.BoardType]{append([]store.BoardType{}, types...)}, err
}

// items are all rows there are.
type items[T any] struct {
	Items []T `json:"items"`
}

func (s *server) listSchedules(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	p := w.page()
	if err := w.done(); err != nil {
		return nil, err
	}
	all, err := s.store.BoardSchedules(ctx, p, false)
	return paged(all, p.Limit, func(b store.BoardSchedule) int64 { return b.TaskID }), err
}

func (s *server) listReplicas(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	if err := query(r).done(); err != nil {
		return nil, err
	}
	all, err := s.store.BoardReplicas(ctx)
	return items[store.BoardReplica]{append([]store.BoardReplica{}, all...)}, err
}
