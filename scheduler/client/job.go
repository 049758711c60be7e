package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Job is what is to be run: the options of rowrun.run_task. Only Task is required.
type Job struct {
	// Task is the name of a task without a plan, or the id of any task in digits, where no task has them as its name.
	Task string
	// Input is laid over the task's payload when the run starts: anything that encoding/json makes an object of, a
	// json.RawMessage as it is. nil: an empty one.
	Input any
	// RunAt is when the run is due, to the microsecond. The zero time: at once, by the database's clock.
	RunAt time.Time
	// Priority: higher first. nil: the task's own.
	Priority *int32
	// IdempotencyKey makes it the same job as any other of this task with the same key: UTF-8 without NUL. "": it is a job of its own.
	IdempotencyKey string
}

// ErrNoTask is in the error of a job whose Task leads nowhere.
var ErrNoTask = errors.New("there is no such task")

// input is a job's input as JSON.
func (j *Job) input() (json.RawMessage, error) {
	if j.Input == nil {
		return json.RawMessage("{}"), nil
	}
	text, err := json.Marshal(j.Input)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the input of a run of %q: %w", j.Task, err)
	case bytes.Equal(text, []byte("null")): // a nil map or pointer
		return json.RawMessage("{}"), nil
	case text[0] != '{':
		return nil, fmt.Errorf("the input of a run of %q is a JSON object, such as a struct or a map makes, not %.20s", j.Task, text)
	}
	return text, nil
}

// check refuses what no database needs to be asked about.
func (j *Job) check() error {
	if j.Task == "" {
		return errors.New("a job needs a Task: the name that rowrun.define_task was given, or an id")
	}
	// encoding/json would write U+FFFD for what is no UTF-8, so that different keys became one.
	for _, text := range []struct{ name, value string }{{"Task", j.Task}, {"IdempotencyKey", j.IdempotencyKey}} {
		if !utf8.ValidString(text.value) || strings.Contains(text.value, "\x00") {
			return fmt.Errorf("the %s %.50q is not UTF-8 without NUL, as a database holds text", text.name, text.value)
		}
	}
	return nil
}

// runAt is RunAt as PostgreSQL reads it, whatever the session's settings are; nil where there is none.
func (j *Job) runAt() any {
	if j.RunAt.IsZero() {
		return nil
	}
	return j.RunAt.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}

// orNil is a value of a parameter, NULL where the job has none.
func orNil[T comparable](value T) any {
	var none T
	if value == none {
		return nil
	}
	return value
}

// priority is a job's as a parameter; NULL where it has none.
func (j *Job) priority() any {
	if j.Priority == nil {
		return nil
	}
	return int64(*j.Priority)
}

// explained names what a person can mend.
func explained(task string, err error) error {
	var state interface{ SQLState() string }
	if errors.As(err, &state) && state.SQLState() == "P0002" {
		return noTask(task, err)
	}
	return fmt.Errorf("client: enqueue a run of %q: %w", task, err)
}

// noTask is the error of a name that leads nowhere; said is the database's word, where it was asked for one.
func noTask(task string, said error) error {
	err := fmt.Errorf("client: %w: %q; define it: SELECT rowrun.define_task(name, type, payload)", ErrNoTask, task)
	if said != nil {
		err = fmt.Errorf("%w: %w", err, said)
	}
	return err
}
