package history

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Filter says which lines are wanted; what is left empty holds for all. Gap lines are always wanted.
type Filter struct {
	Plan     int64
	Task     string // an id or a name
	Run      int64  // a run, or the first of a chain: then all of it
	Types    []string
	Statuses []string
	Queues   []string
	Database string
}

// statuses a transition can lead to.
func statuses() []string {
	return []string{"PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"}
}

// ParseFilter reads plan, task, run, type, status, queue and database; an unknown name is an error, and one that is given twice.
func ParseFilter(query url.Values) (Filter, error) {
	var f Filter
	for name, values := range query {
		if len(values) > 1 {
			return Filter{}, fmt.Errorf("%s: given twice is not accepted; accepted: once, lists with commas", name)
		}
		value := values[0]
		var err error
		switch name {
		case "plan":
			f.Plan, err = positive(name, value)
		case "task":
			f.Task = value
		case "run":
			f.Run, err = positive(name, value)
		case "type":
			f.Types = strings.Split(value, ",")
		case "status":
			f.Statuses = strings.Split(strings.ToUpper(value), ",")
			for _, status := range f.Statuses {
				if !slices.Contains(statuses(), status) {
					err = fmt.Errorf("status: %q is not accepted; accepted: %s", status, strings.Join(statuses(), ", "))
				}
			}
		case "queue":
			f.Queues = strings.Split(value, ",")
		case "database":
			f.Database = value
		default:
			err = fmt.Errorf("%q is not accepted; accepted: plan, task, run, type, status, queue, database", name)
		}
		if err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}

func positive(name, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is not accepted; accepted: an id", name, value)
	}
	return n, nil
}

// all says that nothing is filtered.
func (f *Filter) all() bool {
	return f.Plan == 0 && f.Task == "" && f.Run == 0 && len(f.Types) == 0 && len(f.Statuses) == 0 && len(f.Queues) == 0 && f.Database == ""
}

// Wants says whether a JSON line of the stream is wanted. What can't be judged is: of a run that was removed before its
// line was written, type and queue are null.
func (f *Filter) Wants(line []byte) bool {
	if f.all() {
		return true
	}
	var l struct {
		Event    string  `json:"event"`
		Run      int64   `json:"run_id"`
		Root     int64   `json:"root_id"`
		Task     int64   `json:"task_id"`
		Name     string  `json:"task"`
		Type     *string `json:"type"`
		Plan     int64   `json:"plan_id"`
		Queue    *string `json:"queue"`
		Database string  `json:"database_id"`
		To       string  `json:"to"`
	}
	if json.Unmarshal(line, &l) != nil || l.Event == "stream.gap" {
		return true
	}
	switch {
	case f.Plan != 0 && l.Plan != f.Plan,
		f.Run != 0 && l.Run != f.Run && l.Root != f.Run,
		f.Task != "" && l.Name != f.Task && strconv.FormatInt(l.Task, 10) != f.Task,
		f.Database != "" && l.Database != f.Database,
		len(f.Types) > 0 && l.Type != nil && !slices.Contains(f.Types, *l.Type),
		len(f.Queues) > 0 && l.Queue != nil && !slices.Contains(f.Queues, *l.Queue),
		len(f.Statuses) > 0 && !slices.Contains(f.Statuses, l.To):
		return false
	}
	return true
}
