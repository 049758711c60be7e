package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxPayload is the size in bytes that no encoded payload exceeds. PostgreSQL
// refuses notifications of 8,000 bytes and more.
const MaxPayload = 7900

// ErrTransition is returned by Encode for a transition that Decode would
// refuse or that fits into no payload.
var ErrTransition = errors.New("transition can't be encoded")

// Encode writes transitions, in their order, as payloads of at most MaxPayload
// bytes each. No transitions give one payload that means "look". It is the
// counterpart of Decode; outside of tests the database writes the payloads.
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
