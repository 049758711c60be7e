package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxPayload is the size in bytes that no encoded payload exceeds. PostgreSQL
// refuses notifications of 8,000 bytes and more.
const MaxPayload = 7900

var (
	// ErrPayload is what Decode's errors match: the payload is not one of ours.
	// Its text never contains any of the payload.
	ErrPayload = errors.New("undecodable payload")
	// ErrTransition is returned by Encode for a transition that Decode would
	// refuse or that fits into no payload.
	ErrTransition = errors.New("transition can't be encoded")
)

// Transition is one change of a run's status, as it was committed.
type Transition struct {
	RunID     int64
	TaskID    int64
	PlanID    *int64  // nil where the task has no plan
	From      string  // "" where the run was inserted with the status To
	To        string  // never ""
	Attempt   int     // 0 for the first
	ReplicaID *string // nil where no replica holds or held the run
}

// wire is a Transition as it stands in JSON. Pointers tell a missing value from a zero.
type wire struct {
	RunID     *int64  `json:"run_id"`
	TaskID    *int64  `json:"task_id"`
	PlanID    *int64  `json:"plan_id"`
	From      *string `json:"from"`
	To        *string `json:"to"`
	Attempt   *int    `json:"attempt"`
	ReplicaID *string `json:"replica_id"`
}

// Decode reads a notification's payload: a JSON array of transitions. An empty
// array means "look" and gives no transitions and no error. Unknown members
// are passed over, so that a newer replica may say more; anything else that is
// not as it should be refuses the payload as a whole (ErrPayload).
func Decode(payload string) ([]Transition, error) {
	// encoding/json would replace bad bytes, and take null for an empty array.
	if !utf8.ValidString(payload) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrPayload)
	}
	if transitions, ok := decodeWritten(payload); ok {
		return transitions, nil
	}
	var rows []wire
	if err := json.Unmarshal([]byte(payload), &rows); err != nil || rows == nil {
		return nil, fmt.Errorf("%w: not an array of transitions", ErrPayload)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	transitions := make([]Transition, 0, len(rows))
	for i := range rows {
		t, err := rows[i].transition()
		if err != nil {
			return nil, fmt.Errorf("%w: element %d: %w", ErrPayload, i, err)
		}
		transitions = append(transitions, t)
	}
	return transitions, nil
}

// plausible is a look at both ends of a payload: whether a decoder may make something of it.
func plausible(payload string) bool {
	return strings.HasPrefix(payload, `[{"`) && strings.HasSuffix(payload, "}]")
}

func (w *wire) transition() (Transition, error) {
	switch {
	case w.RunID == nil:
		return Transition{}, errors.New("no run_id")
	case w.TaskID == nil:
		return Transition{}, errors.New("no task_id")
	case w.To == nil || *w.To == "":
		return Transition{}, errors.New("no to")
	case w.From != nil && *w.From == "":
		return Transition{}, errors.New("from is empty")
	case w.Attempt == nil || *w.Attempt < 0:
		return Transition{}, errors.New("no attempt, or a negative one")
	}
	t := Transition{
		RunID: *w.RunID, TaskID: *w.TaskID, PlanID: w.PlanID,
		To: *w.To, Attempt: *w.Attempt, ReplicaID: w.ReplicaID,
	}
	if w.From != nil {
		t.From = *w.From
	}
	return t, nil
}

// Encode writes transitions, in their order, as payloads of at most MaxPayload
// bytes each. No transitions give one payload that means "look". It is the
// counterpart of Decode for tests and tools; in production the database writes
// the payloads.
func Encode(transitions []Transition) ([]string, error) {
	if len(transitions) == 0 {
		return []string{"[]"}, nil
	}
	var payloads []string
	current := []byte{'['}
	for i := range transitions {
		element, err := encodeOne(&transitions[i])
		if err != nil {
			return nil, fmt.Errorf("%w: element %d: %w", ErrTransition, i, err)
		}
		if len(current) > 1 && len(current)+len(element)+2 > MaxPayload {
			payloads = append(payloads, string(append(current, ']')))
			current = []byte{'['}
		}
		if len(current) > 1 {
			current = append(current, ',')
		}
		current = append(current, element...)
	}
	return append(payloads, string(append(current, ']'))), nil
}

func encodeOne(t *Transition) ([]byte, error) {
	w := wire{
		RunID: &t.RunID, TaskID: &t.TaskID, PlanID: t.PlanID,
		To: &t.To, Attempt: &t.Attempt, ReplicaID: t.ReplicaID,
	}
	if t.From != "" {
		w.From = &t.From
	}
	if _, err := w.transition(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(t.From) || !utf8.ValidString(t.To) ||
		(t.ReplicaID != nil && !utf8.ValidString(*t.ReplicaID)) {
		return nil, errors.New("not UTF-8")
	}
	element, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if len(element)+2 > MaxPayload {
		return nil, fmt.Errorf("longer than %d bytes", MaxPayload-2)
	}
	return element, nil
}
