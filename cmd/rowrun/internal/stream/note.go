package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// notesEvery is how often the writer looks for what is to be said besides transitions, where nobody tells it.
const notesEvery = 8 * time.Second

// printNotes prints notes until ctx ends. What is printed and could not be marked is printed again: at least once.
func (e *Election) printNotes(ctx context.Context) {
	said := ""
	for e.awaitNotes(ctx) {
		err := e.notesPass(ctx)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && store.Reason(err) != said:
			said = store.Reason(err)
			e.config.Log.Warn().Str("error", said).Msg("notes could not be printed; trying again")
		}
	}
}

// awaitNotes returns when there may be some, false when ctx ends.
func (e *Election) awaitNotes(ctx context.Context) bool {
	timer := time.NewTimer(notesEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case found := <-e.config.Noted:
			if found {
				return true
			}
			timer.Reset(notesEvery)
		}
	}
}

func (e *Election) notesPass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	notes, err := e.config.Store.UnprintedNotes(ctx)
	if err != nil || len(notes) == 0 {
		return err
	}
	ids := make([]int64, len(notes))
	for i := range notes {
		ids[i] = notes[i].ID
		if err := e.config.Printer.note(&notes[i]); err != nil {
			return err
		}
	}
	return e.config.Store.NotesPrinted(ctx, ids)
}

// note writes a line at once; it may be called beside the printer's reader.
func (p *Printer) note(n *store.Note) error {
	var detail map[string]json.RawMessage
	if err := json.Unmarshal(n.Detail, &detail); err != nil {
		detail = nil // the table holds nothing but objects
	}
	p.line("", func(to *zerolog.Logger) { noteJSON(to, n, detail) }, func() { noteText(&p.buffer, n, detail, p.config.Color) })
	return p.flush()
}

// ownMembers are those of a note's line that don't come from its detail.
func ownMembers() []string { return []string{"level", "shard", "time", "stream", "event", "message"} }

// noteJSON writes the members of its detail behind the line's own, in the order of their names.
func noteJSON(to *zerolog.Logger, n *store.Note, detail map[string]json.RawMessage) {
	e := to.Warn()
	if n.Level == "info" {
		e = to.Info()
	}
	e.Str("time", n.At.UTC().Format(timeLayout)).Str("stream", "task_run").Str("event", n.Event)
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		if !slices.Contains(ownMembers(), name) {
			e.RawJSON(name, detail[name])
		}
	}
	e.Msg(n.Message)
}

func noteText(to *bytes.Buffer, n *store.Note, detail map[string]json.RawMessage, color bool) {
	on, off := yellow, reset
	if !color {
		on, off = "", ""
	}
	var what []string
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		what = append(what, name+"="+string(detail[name]))
	}
	fmt.Fprintf(to, "%s  %s… %s: %s%s\n", n.At.UTC().Format(clockLayout), on, OneLine(n.Message), OneLine(strings.Join(what, " ")), off)
}
