package stream

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// For people a copy of what a replica printed is what that replica prints for people.
func TestACopyForPeopleIsTheLineForPeople(t *testing.T) {
	t.Parallel()
	notes := []store.Note{
		{At: at, Event: "task_run.stalled", Level: "warn", Message: "task run stalled", Detail: json.RawMessage(`{"run_id":7,"task":"evil\nname"}`)},
		{At: at, Event: "act.asked", Level: "info", Message: "act asked", Detail: json.RawMessage(`{"act":"cancel","by":"me"}`)},
		{At: at, Event: "recovery.began", Level: "warn", Message: "recovery began", Detail: json.RawMessage(`{"backlog":3}`)},
	}
	both := map[bool]string{}
	for _, text := range []bool{false, true} {
		var out bytes.Buffer
		p, err := NewPrinter(PrinterConfig{Out: &out, Text: text})
		require.NoError(t, err)
		for i := range notes {
			require.NoError(t, p.note(&notes[i]))
		}
		p.gap(at, "because")
		p.transition(pending(row()))
		p.transition(change(events.Transition{RunID: 7, TaskID: 3, From: "PENDING", To: "CANCELED"}, nil, at))
		require.NoError(t, p.flush())
		both[text] = out.String()
	}
	var copied bytes.Buffer
	p, err := NewPrinter(PrinterConfig{Out: &copied, Text: true})
	require.NoError(t, err)
	for line := range bytes.Lines([]byte(both[false])) {
		require.NoError(t, p.Copy(bytes.TrimSuffix(line, []byte("\n"))))
	}
	require.Equal(t, both[true], copied.String())
	require.Contains(t, copied.String(), "… task run stalled: run_id=7 task=\"evil\\nname\"\n")

	copied.Reset()
	require.NoError(t, p.Copy([]byte(`{"event":"stream.gap","reason":"\u001b[2J"}`)))
	require.NoError(t, p.Copy([]byte(`{"event":"task_run.\u001b","to":"\u001b","message":"\u001b"}`)))
	require.NotContains(t, copied.String(), "\x1b", "a terminal stays harmless, whoever the replica is")
	require.Error(t, p.Copy([]byte(`[]`)))
}
