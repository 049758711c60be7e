package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// errImage means that a row in the log is not as the publication says.
var errImage = errors.New("a row of another form than the publication's")

// columns says where in a row image what stands. A line needs all of them.
type columns struct {
	id, root, task, attempt, retryOf, status, plan, kind, queue, database, version, replica,
	created, available, started, finished, result, prev, retryRun int
	due int // -1: the log is of a release whose publication doesn't have it
}

func columnsOf(r *events.Relation) (columns, error) {
	var c columns
	for name, at := range map[string]*int{
		"id": &c.id, "root_id": &c.root, "task_id": &c.task, "attempt": &c.attempt, "retry_of": &c.retryOf,
		"status": &c.status, "plan_id": &c.plan, "type": &c.kind, "queue": &c.queue, "database_id": &c.database,
		"version": &c.version, "replica_id": &c.replica, "created_at": &c.created, "available_at": &c.available,
		"started_at": &c.started, "finished_at": &c.finished, "result": &c.result, "prev_status": &c.prev,
		"retry_run_id": &c.retryRun,
	} {
		if *at = r.Index(name); *at < 0 {
			return columns{}, fmt.Errorf("%w: no column %s", errImage, name)
		}
	}
	c.due = r.Index("run_at")
	return c, nil
}

// trimResults drops the results that no line uses, which may have a megabyte each: those of runs that have not failed and
// were not canceled. It is for one connection.
func trimResults() func(row *events.Row) {
	var rel *events.Relation
	var status, result int
	nothing := &events.Value{DataType: events.Null}
	return func(row *events.Row) {
		if row.Relation != rel {
			rel, status, result = row.Relation, row.Relation.Index("status"), row.Relation.Index("result")
		}
		if status < 0 || result < 0 {
			return // whoever makes a line of it says so
		}
		if s := row.Values[status]; s.DataType != events.Text || !tellsOutcome(string(s.Data)) {
			row.Values[result] = nothing
		}
	}
}

// tellsOutcome says that a line of this status tells code and detail.
func tellsOutcome(status string) bool { return status == "FAILED" || status == "CANCELED" }

// image reads one row image. The first thing that is not as it should be is kept in err.
type image struct {
	values []*events.Value
	err    error
}

func (i *image) text(at int) string {
	v := i.values[at]
	if v.DataType != events.Text && i.err == nil {
		i.err = fmt.Errorf("%w: a value is missing", errImage)
	}
	return string(v.Data)
}

func (i *image) optional(at int) *string {
	if v := i.values[at]; v.DataType == events.Text {
		text := string(v.Data)
		return &text
	}
	return nil
}

func (i *image) number(at int) int64 {
	n, err := strconv.ParseInt(i.text(at), 10, 64)
	if err != nil && i.err == nil {
		i.err = fmt.Errorf("%w: not a number", errImage)
	}
	return n
}

func (i *image) optionalNumber(at int) *int64 {
	if i.values[at].DataType != events.Text {
		return nil
	}
	n := i.number(at)
	return &n
}

func (i *image) time(at int) time.Time {
	if i.values[at].DataType != events.Text {
		return time.Time{}
	}
	t, err := time.Parse("2006-01-02 15:04:05.999999-07", string(i.values[at].Data))
	if err != nil {
		t, err = store.BoundTime(string(i.values[at].Data)) // infinity, and years that have more or less than four digits
	}
	if err != nil && i.err == nil {
		i.err = fmt.Errorf("%w: not a time", errImage)
	}
	return t
}

// lineOf is the line that a row image tells; false: it changed no status. From PENDING to RUNNING goes the line of a run that
// was promoted and claimed at once, which are two edges. apart: the result is stored apart and has to
// be read from the row.
func lineOf(c *columns, row *events.Row) (l line, ok, apart bool, err error) {
	i := &image{values: row.Values}
	if !row.Inserted && row.Values[c.prev].DataType != events.Text {
		return line{}, false, false, nil
	}
	run := &store.StreamRow{
		ID: i.number(c.id), RootID: i.number(c.root), TaskID: i.number(c.task), Type: i.text(c.kind), Queue: i.text(c.queue),
		PlanID: i.optionalNumber(c.plan), DatabaseID: i.optional(c.database), Version: i.optional(c.version),
		Attempt: int(i.number(c.attempt)), RetryOf: i.optionalNumber(c.retryOf), RetryRunID: i.optionalNumber(c.retryRun),
		CreatedAt: i.time(c.created), AvailableAt: i.time(c.available), StartedAt: i.time(c.started), FinishedAt: i.time(c.finished),
	}
	if c.due >= 0 {
		run.RunAt = i.time(c.due)
	}
	t := events.Transition{
		RunID: run.ID, TaskID: run.TaskID, PlanID: run.PlanID, To: i.text(c.status), Attempt: run.Attempt, ReplicaID: i.optional(c.replica),
	}
	if !row.Inserted {
		t.From = string(row.Values[c.prev].Data)
	}
	if tellsOutcome(t.To) {
		apart = row.Values[c.result].DataType == events.Unchanged
		run.Code, run.Detail = outcome(row.Values[c.result].Data)
	}
	if i.err != nil {
		return line{}, false, false, i.err
	}
	if row.Inserted {
		run.Status = t.To
		return pending(run), true, false, nil
	}
	return change(t, run, run.CreatedAt), true, apart, nil
}

// outcome reads what a line tells of a result, as ->> would.
func outcome(result []byte) (code, detail *string) {
	var r struct{ Code, Detail json.RawMessage }
	if len(result) == 0 || json.Unmarshal(result, &r) != nil {
		return nil, nil
	}
	return member(r.Code), member(r.Detail)
}

func member(raw json.RawMessage) *string {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return &s
}
