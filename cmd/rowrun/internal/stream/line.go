package stream

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	timeLayout = "2006-01-02T15:04:05.000000Z07:00"
	// maxDetail is how many bytes of a detail a line shows.
	maxDetail = 4096
)

// line is one transition with what its row tells.
type line struct {
	events.Transition
	row *store.StreamRow // nil: the run was removed before it could be read
	at  time.Time
	lsn string // "": the source knows none
}

// pending is the line of a run's insert.
func pending(row *store.StreamRow) line {
	return line{
		Transition: events.Transition{RunID: row.ID, TaskID: row.TaskID, PlanID: row.PlanID, To: "PENDING", Attempt: row.Attempt},
		row:        row, at: row.CreatedAt,
	}
}

// insertedAvailable says that a row is as its INSERT has left it, and that one has told two transitions.
func insertedAvailable(row *store.StreamRow) bool { return row.Status == "AVAILABLE" && row.Prev == "" }

// available is the line of a run's promotion where a version of its row tells of that beside another edge: of its INSERT, or
// of its claim.
func available(row *store.StreamRow) line {
	return change(events.Transition{RunID: row.ID, TaskID: row.TaskID, PlanID: row.PlanID, From: "PENDING", To: "AVAILABLE", Attempt: row.Attempt},
		row, row.CreatedAt)
}

// change is the line of a transition that was told. now stands in for the time
// of one whose row is gone.
func change(t events.Transition, row *store.StreamRow, now time.Time) line {
	l := line{Transition: t, row: row, at: now}
	if row == nil {
		return l
	}
	var at time.Time
	switch rank(t.To) {
	case 2:
		at = row.AvailableAt
	case 3:
		at = row.StartedAt
	case ended:
		at = row.FinishedAt
	}
	if !at.IsZero() {
		l.at = at
	}
	return l
}

// edge is the line of the change of status that a row tells with this rank; false: there was none.
func edge(row *store.StreamRow, rank uint8) (line, bool) {
	t := events.Transition{RunID: row.ID, TaskID: row.TaskID, PlanID: row.PlanID, Attempt: row.Attempt}
	switch rank {
	case 1:
		return pending(row), true
	case 2:
		t.From, t.To = "PENDING", "AVAILABLE"
		if row.AvailableAt.IsZero() {
			return line{}, false
		}
	case 3:
		t.From, t.To, t.ReplicaID = "AVAILABLE", "RUNNING", row.ReplicaID
		if row.StartedAt.IsZero() {
			return line{}, false
		}
	default:
		t.To, t.ReplicaID = row.Status, row.ReplicaID
		switch {
		case !row.StartedAt.IsZero():
			t.From = "RUNNING"
		case !row.AvailableAt.IsZero():
			t.From = "AVAILABLE"
		default:
			t.From = "PENDING"
		}
	}
	return change(t, row, row.CreatedAt), true
}

// json writes the line. The order of its members is part of the contract.
func (l *line) json(to *zerolog.Logger) {
	var space [40]byte
	e := to.WithLevel(l.level()).Bytes("time", l.at.UTC().AppendFormat(space[:0], timeLayout))
	status := strings.ToLower(l.To)
	e.Str("stream", "task_run").Str("event", "task_run."+status).Int64("run_id", l.RunID)
	row := l.row
	if row == nil {
		row = &store.StreamRow{}
	}
	optional(e, "root_id", l.row != nil, row.RootID)
	e.Int64("task_id", l.TaskID)
	text(e, "task", known(l.row, &row.TaskName))
	text(e, "type", known(l.row, &row.Type))
	number(e, "plan_id", l.PlanID)
	text(e, "queue", known(l.row, &row.Queue))
	text(e, "database_id", row.DatabaseID)
	text(e, "version", row.Version)
	e.Int("attempt", l.Attempt)
	if l.From == "" {
		e.RawJSON("from", []byte("null"))
	} else {
		e.Str("from", l.From)
	}
	e.Str("to", l.To)
	text(e, "replica_id", l.ReplicaID)
	if l.lsn == "" {
		e.RawJSON("lsn", []byte("null"))
	} else {
		e.Str("lsn", l.lsn)
	}
	if l.To == "FAILED" || l.To == "CANCELED" {
		text(e, "code", row.Code)
		text(e, "detail", cut(row.Detail))
		number(e, "retry_run_id", row.RetryRunID)
	}
	if name, ms, ok := l.duration(); ok {
		e.Float64(name, ms)
	}
	if rank(l.To) == 3 && l.row != nil && !l.row.RunAt.IsZero() {
		e.Float64("late_ms", milliseconds(l.row.StartedAt.Sub(later(l.row.CreatedAt, l.row.RunAt))))
	}
	e.Msg("task run " + status)
}

// level is info; a failure has that of its task, but for what is only called again later.
func (l *line) level() zerolog.Level {
	if l.To == "FAILED" && l.row != nil && l.row.FailureLogLevel != "" && !l.again() {
		if level, err := zerolog.ParseLevel(l.row.FailureLogLevel); err == nil {
			return level
		}
	}
	return zerolog.InfoLevel
}

// again says that an executor asked to be called again, or gave the run back.
func (l *line) again() bool {
	return l.row.Code != nil && (*l.row.Code == "SNOOZED" || *l.row.Code == "RELEASED") && l.row.RetryRunID != nil
}

// duration is how long the status before took: the wait of a run that starts,
// the work of one that ends. In milliseconds.
func (l *line) duration() (name string, ms float64, ok bool) {
	if l.row == nil || l.row.StartedAt.IsZero() {
		return "", 0, false
	}
	switch rank(l.To) {
	case 3:
		return "wait_ms", milliseconds(l.row.StartedAt.Sub(l.row.CreatedAt)), true
	case ended:
		return "run_ms", milliseconds(l.row.FinishedAt.Sub(l.row.StartedAt)), true
	}
	return "", 0, false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func milliseconds(d time.Duration) float64 { return float64(max(d, 0).Microseconds()) / 1000 }

func known(row *store.StreamRow, value *string) *string {
	if row == nil {
		return nil
	}
	return value
}

func optional(e *zerolog.Event, name string, ok bool, value int64) {
	if ok {
		e.Int64(name, value)
	} else {
		e.RawJSON(name, []byte("null"))
	}
}

func number(e *zerolog.Event, name string, value *int64) {
	if value == nil {
		e.RawJSON(name, []byte("null"))
	} else {
		e.Int64(name, *value)
	}
}

func text(e *zerolog.Event, name string, value *string) {
	if value == nil {
		e.RawJSON(name, []byte("null"))
	} else {
		e.Str(name, *value)
	}
}

// cut shortens a detail to maxDetail bytes, at the border of a character.
func cut(s *string) *string {
	if s == nil || len(*s) <= maxDetail {
		return s
	}
	n := maxDetail
	for n > maxDetail-utf8.UTFMax && !utf8.RuneStart((*s)[n]) {
		n--
	}
	short := (*s)[:n]
	return &short
}
