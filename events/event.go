package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// errPayload is what decode's errors match: the payload is not one of ours.
// Its text never contains any of the payload.
var errPayload = errors.New("undecodable payload")

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

// decode reads a notification's payload: a JSON array of transitions. An empty
// array means "look" and gives no transitions and no error. Unknown members
// are passed over, so that a newer replica may say more; anything else that is
// not as it should be refuses the payload as a whole (errPayload).
func decode(payload string) ([]Transition, error) {
	// encoding/json would replace bad bytes, and take null for an empty array.
	if !utf8.ValidString(payload) {
		return nil, fmt.Errorf("%w: not UTF-8", errPayload)
	}
	if transitions, ok := decodeWritten(payload); ok {
		return transitions, nil
	}
	var rows []wire
	if err := json.Unmarshal([]byte(payload), &rows); err != nil || rows == nil {
		return nil, fmt.Errorf("%w: not an array of transitions", errPayload)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	transitions := make([]Transition, 0, len(rows))
	for i := range rows {
		t, err := rows[i].transition()
		if err != nil {
			return nil, fmt.Errorf("%w: element %d: %w", errPayload, i, err)
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
