package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// handed is what a run and its task say of what is executed: both of one version of the task's row.
type handed struct {
	kind, taskKind, alias  string // alias: what the run's type is another name of, "": of none
	database, taskDatabase *string
	version, taskVersion   *string
	input, payload, state  []byte // JSON objects; state nil: the task keeps none
}

// ofTheTask are the keys of a payload that decide what is executed. They belong to the task, in types whose input is the
// parameters of a fixed text.
func ofTheTask() []string { return []string{"sql", "transaction", "command"} }

// fixed says whether the task alone decides what is executed.
func (h *handed) fixed() bool {
	return slices.Contains([]string{"SQL", "DATABASE_MIGRATE", "COMMAND"}, h.kind)
}

// unfit says why the run must not be executed, "": it may. Its input was written for what its task was when it was inserted,
// and for nothing that the task's author has made of it since.
func (h *handed) unfit() string {
	switch {
	case h.kind != h.taskKind && h.alias != h.taskKind:
		return fmt.Sprintf("task type changed from %s to %s after the run was inserted: insert it again", h.kind, h.taskKind)
	case !h.fixed():
		return ""
	case h.kind != "COMMAND" && distinct(h.database, h.taskDatabase):
		return fmt.Sprintf("the task's database_id changed from %s to %s after the run was inserted: insert it again",
			orNone(h.database), orNone(h.taskDatabase))
	case h.kind == "DATABASE_MIGRATE" && distinct(h.version, h.taskVersion):
		return fmt.Sprintf("the task's version changed from %s to %s after the run was inserted: insert it again",
			orNone(h.version), orNone(h.taskVersion))
	case h.plainInput():
		return ""
	}
	input, err := members(h.input)
	if err != nil {
		return fmt.Sprintf("the input of the run can't be read: %v", err)
	}
	for _, key := range ofTheTask() {
		if _, named := input[key]; named {
			return fmt.Sprintf("the input of a %s run names sql, transaction or command, which belong to the task's payload: insert it again without", h.kind)
		}
	}
	return ""
}

// whole is what the executor gets: the task's payload, with its state below and the run's input laid over it. What isn't
// UTF-8 is returned as it is: it is refused where the run is executed.
func (h *handed) whole() json.RawMessage {
	if h.plainInput() && h.state == nil {
		return h.payload
	}
	for _, part := range [][]byte{h.payload, h.input, h.state} {
		if !utf8.Valid(part) {
			return part
		}
	}
	all := map[string]json.RawMessage{}
	if h.state != nil {
		all["state"] = h.state
	}
	for _, part := range [][]byte{h.payload, h.input} {
		over, err := members(part)
		if err != nil {
			return part // whoever reads it says what is wrong
		}
		for key, value := range over {
			all[key] = value
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		return h.payload
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// traceParent is that of the run's input, "": it has none.
func (h *handed) traceParent() string {
	if h.plainInput() || !bytes.Contains(h.input, []byte("traceparent")) {
		return ""
	}
	input, err := members(h.input)
	if err != nil {
		return ""
	}
	var parent string
	if json.Unmarshal(input["traceparent"], &parent) != nil {
		return ""
	}
	return parent
}

func (h *handed) plainInput() bool { return string(h.input) == "{}" }

func members(object []byte) (all map[string]json.RawMessage, err error) {
	err = json.Unmarshal(object, &all)
	return all, err
}

func distinct(a, b *string) bool { return (a == nil) != (b == nil) || a != nil && *a != *b }

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}
