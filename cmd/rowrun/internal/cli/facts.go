package cli

import (
	"encoding/json"
	"strconv"
	"time"
)

// Facts shows one row of a table as a line per fact that is there.
type Facts struct{ Table }

// NewFacts begins the facts of one row: what it is, and its id.
func NewFacts(what string, id int64) *Facts {
	return &Facts{Table{Columns: []Column{Whole(what), Whole(strconv.FormatInt(id, 10))}, Uncut: true, facts: true}}
}

// Add adds a fact; one without a value is left out.
func (f *Facts) Add(name, value string) {
	if value != "" {
		f.Rows = append(f.Rows, []string{name, value})
	}
}

// Exact adds a moment to the millisecond.
func (f *Facts) Exact(name string, at *time.Time) {
	if at != nil {
		f.Add(name, at.UTC().Format("2006-01-02 15:04:05.000 MST"))
	}
}

// Document is JSON on one line, "" for nothing to show.
func Document(raw json.RawMessage) string {
	if text := string(raw); text != "{}" && text != "null" {
		return text
	}
	return ""
}
