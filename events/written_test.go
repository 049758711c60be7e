package events_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

// asWritten writes transitions as rowrun.announce does.
func asWritten(transitions []events.Transition) string {
	items := make([]string, len(transitions))
	for i, t := range transitions {
		plan, replica := "null", "null"
		if t.PlanID != nil {
			plan = fmt.Sprint(*t.PlanID)
		}
		if t.ReplicaID != nil {
			replica = `"` + *t.ReplicaID + `"`
		}
		items[i] = fmt.Sprintf(`{"run_id":%d,"task_id":%d,"plan_id":%s,"from":"%s","to":"%s","attempt":%d,"replica_id":%s}`,
			t.RunID, t.TaskID, plan, t.From, t.To, t.Attempt, replica)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestWhatTheDatabaseWritesNeedsNoJSONDecoder(t *testing.T) {
	t.Parallel()
	plain := rapid.StringMatching(`[A-Za-z0-9./ é-]{1,12}`)
	storetest.Check(t, 100, 10_000, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) events.Transition {
			one := genTransition().Draw(t, "transition")
			one.From, one.To = plain.Draw(t, "from"), plain.Draw(t, "to")
			if one.ReplicaID != nil {
				*one.ReplicaID = plain.Draw(t, "replica")
			}
			return one
		}), 1, 20).Draw(t, "transitions")
		got, ok := events.DecodeWritten(asWritten(want))
		require.True(t, ok)
		require.Equal(t, want, got)
	})
}

// FuzzDecodeWritten: whatever the quick way reads, the decoder reads alike.
func FuzzDecodeWritten(f *testing.F) {
	replica := "r-1"
	one := asWritten([]events.Transition{{RunID: 7, TaskID: 3, From: "PENDING", To: "AVAILABLE", ReplicaID: &replica}})
	f.Add(one)
	f.Add(strings.Replace(one, ":7", ":07", 1))
	f.Add(strings.Replace(one, ":7", ":-0", 1))
	f.Add(strings.Replace(one, "r-1", `r\n`, 1))
	f.Fuzz(func(t *testing.T, payload string) {
		quick, ok := events.DecodeWritten(payload)
		if !ok {
			return
		}
		// A blank in front leaves it to the decoder.
		slow, err := events.Decode(" " + payload)
		if err != nil {
			require.ErrorContains(t, err, "not UTF-8")
			return
		}
		require.Equal(t, slow, quick)
	})
}

// A reader that is behind holds transitions, and with them nothing of the payloads that they came in.
func TestTransitionsKeepNothingOfTheirPayload(t *testing.T) {
	t.Parallel()
	replica := "r"
	payload := asWritten([]events.Transition{
		{RunID: 1, TaskID: 1, From: "PENDING", To: "AVAILABLE"},
		{RunID: 1, TaskID: 1, From: "AVAILABLE", To: "NEW", ReplicaID: &replica},
	})
	from := uintptr(unsafe.Pointer(unsafe.StringData(payload)))
	transitions, err := events.Decode(payload)
	require.NoError(t, err)
	for _, one := range transitions {
		parts := []string{one.From, one.To}
		if one.ReplicaID != nil {
			parts = append(parts, *one.ReplicaID)
		}
		for _, part := range parts {
			at := uintptr(unsafe.Pointer(unsafe.StringData(part)))
			require.False(t, at >= from && at < from+uintptr(len(payload)), "%q is a part of the payload", part)
		}
	}
	runtime.KeepAlive(payload)
}
