package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// copied is a line as json writes it.
type copied struct {
	Time       time.Time
	Event      string
	RunID      int64  `json:"run_id"`
	RootID     *int64 `json:"root_id"`
	TaskID     int64  `json:"task_id"`
	Task       *string
	Type       *string
	PlanID     *int64 `json:"plan_id"`
	Queue      *string
	DatabaseID *string `json:"database_id"`
	Version    *string
	Attempt    int
	From       *string
	To         string
	ReplicaID  *string `json:"replica_id"`
	Code       *string
	Detail     *string
	RetryRunID *int64  `json:"retry_run_id"`
	WaitMs     float64 `json:"wait_ms"`
	RunMs      float64 `json:"run_ms"`
	Reason     string
	Message    string
}

// Copy prints a line that somebody else has written, given as JSON. Its errors
// match ErrOutput, or say that it is none of the stream's lines.
func (p *Printer) Copy(text []byte) error {
	if !p.config.Text {
		p.buffer.Write(text)
		p.buffer.WriteByte('\n')
		return p.flush()
	}
	var c copied
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("not a line of the stream: %w", err)
	}
	switch {
	case c.Event == "stream.gap":
		gapText(&p.buffer, c.Time, OneLine(c.Reason), p.config.Color)
	case rank(c.To) > 0 && c.Event == "task_run."+strings.ToLower(c.To):
		l := c.line()
		l.text(&p.buffer, p.config.Color)
	default:
		return p.copyNote(text, &c)
	}
	return p.flush()
}

// copyNote prints what is neither a transition nor a gap as the note that it is.
func (p *Printer) copyNote(text []byte, c *copied) error {
	var detail map[string]json.RawMessage
	if err := json.Unmarshal(text, &detail); err != nil {
		return fmt.Errorf("not a line of the stream: %w", err)
	}
	for _, own := range ownMembers() {
		delete(detail, own)
	}
	noteText(&p.buffer, &store.Note{At: c.Time, Message: c.Message}, detail, p.config.Color)
	return p.flush()
}

// line is what json was given, as far as people are shown it.
func (c *copied) line() line {
	l := line{at: c.Time, Transition: events.Transition{
		RunID: c.RunID, TaskID: c.TaskID, PlanID: c.PlanID, To: c.To, Attempt: c.Attempt, ReplicaID: c.ReplicaID,
	}}
	if c.From != nil {
		l.From = *c.From
	}
	if c.RootID == nil { // the run was gone
		return l
	}
	l.row = &store.StreamRow{
		ID: c.RunID, RootID: *c.RootID, TaskID: c.TaskID, PlanID: c.PlanID, DatabaseID: c.DatabaseID, Version: c.Version,
		Code: c.Code, Detail: c.Detail, RetryRunID: c.RetryRunID,
	}
	if c.Task != nil {
		l.row.TaskName = *c.Task
	}
	if c.Type != nil {
		l.row.Type = *c.Type
	}
	switch {
	case c.WaitMs > 0:
		l.row.StartedAt, l.row.CreatedAt = c.Time, c.Time.Add(-duration(c.WaitMs))
	case c.RunMs > 0:
		l.row.FinishedAt, l.row.StartedAt = c.Time, c.Time.Add(-duration(c.RunMs))
	}
	return l
}

func duration(ms float64) time.Duration { return store.Milliseconds(ms) }
