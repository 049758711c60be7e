package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// assignment is what a run and its task say of what is to be executed; of the task all from one version of its row.
type assignment struct {
	kind, taskKind, alias  string // alias: what the run's type is another name of, "": of none
	database, taskDatabase *string
	version, taskVersion   *string
	input, payload, state  []byte // JSON objects; state nil: the task keeps none
}

// ofTheTask are the keys of a payload that decide what is executed. They belong to the task, in types whose input is the
// parameters of a fixed text.
func ofTheTask() []string { return []string{"sql", "transaction", "command"} }

// fixed says whether the task alone decides what is executed.
func (a *assignment) fixed() bool {
	return slices.Contains([]string{"SQL", "DATABASE_MIGRATE", "COMMAND"}, a.kind)
}

// unfit says why the run must not be executed, "": it may. Its input was written for what its task was when it was inserted,
// and for nothing that the task's author has made of it since.
func (a *assignment) unfit() string {
	switch {
	case a.kind != a.taskKind && a.alias != a.taskKind:
		return fmt.Sprintf("task type changed from %s to %s after the run was inserted: insert it again", a.kind, a.taskKind)
	case !a.fixed():
		return ""
	case a.kind != "COMMAND" && distinct(a.database, a.taskDatabase):
		return fmt.Sprintf("the task's database_id changed from %s to %s after the run was inserted: insert it again",
			orNone(a.database), orNone(a.taskDatabase))
	case a.kind == "DATABASE_MIGRATE" && distinct(a.version, a.taskVersion):
		return fmt.Sprintf("the task's version changed from %s to %s after the run was inserted: insert it again",
			orNone(a.version), orNone(a.taskVersion))
	case a.plainInput():
		return ""
	}
	input, err := members(a.input)
	if err != nil {
		return fmt.Sprintf("the input of the run can't be read: %v", err)
	}
	for _, key := range ofTheTask() {
		if _, named := input[key]; named {
			return fmt.Sprintf("the input of a %s run names sql, transaction or command, which belong to the task's payload: insert it again without", a.kind)
		}
	}
	return ""
}

// whole is what the executor gets: the task's payload, with its state below and the run's input laid over it. What isn't
// UTF-8 is returned as it is: it is refused where the run is executed.
func (a *assignment) whole() json.RawMessage {
	if a.plainInput() && a.state == nil {
		return a.payload
	}
	for _, part := range [][]byte{a.payload, a.input, a.state} {
		if !utf8.Valid(part) {
			return part
		}
	}
	all := map[string]json.RawMessage{}
	if a.state != nil {
		all["state"] = a.state
	}
	for _, part := range [][]byte{a.payload, a.input} {
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
		return a.payload
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// namesResults says whether the payload may name results of other tasks. PostgreSQL writes each key in one way.
func (a *assignment) namesResults() bool { return bytes.Contains(a.payload, []byte(`"$result"`)) }

// Resolve puts the results of tasks that a claim's task depends on in place of what its payload names of them, before the input is
// laid over it. Where one isn't to be had, the claim is unfit. It does nothing for a claim that names none.
func (s *Store) Resolve(ctx context.Context, c *Claim) error {
	if c.unresolved == nil {
		return nil
	}
	var payload []byte
	var problem *string
	err := s.pool.QueryRow(ctx, statement("resolve_results"), c.TaskID, json.RawMessage(c.unresolved.payload)).Scan(&payload, &problem)
	if err != nil {
		return fmt.Errorf("resolve results of other tasks: %w", err)
	}
	if problem != nil {
		c.Unfit, c.Payload = *problem, json.RawMessage(`{}`)
	} else {
		resolved := *c.unresolved
		resolved.payload = payload
		c.Payload = resolved.whole()
	}
	c.unresolved = nil
	return nil
}

// traceParent is that of the run's input, "": it has none.
func (a *assignment) traceParent() string {
	if a.plainInput() || !bytes.Contains(a.input, []byte("traceparent")) {
		return ""
	}
	input, err := members(a.input)
	if err != nil {
		return ""
	}
	var parent string
	if json.Unmarshal(input["traceparent"], &parent) != nil {
		return ""
	}
	return parent
}

func (a *assignment) plainInput() bool { return string(a.input) == "{}" }

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
