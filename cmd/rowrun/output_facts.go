package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// factSheet shows one row of a table as a line per fact that is there.
type factSheet struct{ table }

func newFacts(what string, id int64) *factSheet {
	return &factSheet{table{header: []string{what, strconv.FormatInt(id, 10)}}}
}

func (f *factSheet) add(name, value string) {
	if value != "" {
		f.rows = append(f.rows, []string{name, value})
	}
}

// exact adds a moment to the millisecond.
func (f *factSheet) exact(name string, at *time.Time) {
	if at != nil {
		f.add(name, at.UTC().Format("2006-01-02 15:04:05.000 MST"))
	}
}

// document is JSON on one line, "" for nothing to show.
func document(raw json.RawMessage) string {
	if text := string(raw); text != "{}" && text != "null" {
		return text
	}
	return ""
}

// writeParts writes the tables that have rows, with an empty line between them.
func (o *output) writeParts(w io.Writer, parts ...table) error {
	written := false
	for _, part := range parts {
		if len(part.rows) == 0 {
			continue
		}
		if written {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		written = true
		if err := o.write(w, nil, part); err != nil {
			return err
		}
	}
	return nil
}
