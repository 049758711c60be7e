package events_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestDecodeReadsWhatTheContractShows(t *testing.T) {
	t.Parallel()
	plan, replica := int64(1), "r-1"
	for name, c := range map[string]struct {
		payload string
		want    []events.Transition
	}{
		"look": {" [ ] ", nil},
		"all members": {
			`[{"run_id":7,"task_id":3,"plan_id":1,"from":"AVAILABLE","to":"RUNNING","attempt":2,"replica_id":"r-1"}]`,
			[]events.Transition{{RunID: 7, TaskID: 3, PlanID: &plan, From: "AVAILABLE", To: "RUNNING", Attempt: 2, ReplicaID: &replica}},
		},
		"nulls, in order": {
			`[{"run_id":9223372036854775807,"task_id":-3,"plan_id":null,"from":null,"to":"AVAILABLE","attempt":0,"replica_id":null},
			  {"run_id":1,"task_id":3,"to":"DONE","attempt":0}]`,
			[]events.Transition{{RunID: 1<<63 - 1, TaskID: -3, To: "AVAILABLE"}, {RunID: 1, TaskID: 3, To: "DONE"}},
		},
		"a member of tomorrow": {
			`[{"run_id":7,"task_id":3,"to":"DONE","attempt":0,"mood":{"good":true}}]`,
			[]events.Transition{{RunID: 7, TaskID: 3, To: "DONE"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := events.Decode(c.payload)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDecodeRefusesWhatIsNotOursAndKeepsItSecret(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		"", "hunter2", "null", "{}", `"hunter2"`, "[", "[] hunter2", "[null]", "[1]", "[[]]", "[{}]",
		`[{"task_id":3,"to":"DONE","attempt":0}]`,
		`[{"run_id":7,"to":"DONE","attempt":0}]`,
		`[{"run_id":7,"task_id":3,"attempt":0}]`,
		`[{"run_id":7,"task_id":3,"to":"DONE"}]`,
		`[{"run_id":7,"task_id":3,"to":"","attempt":0}]`,
		`[{"run_id":7,"task_id":3,"from":"","to":"DONE","attempt":0}]`,
		`[{"run_id":7,"task_id":3,"to":"DONE","attempt":-1}]`,
		`[{"run_id":"hunter2","task_id":3,"to":"DONE","attempt":0}]`,
		`[{"run_id":7.5,"task_id":3,"to":"DONE","attempt":0}]`,
		`[{"run_id":9223372036854775808,"task_id":3,"to":"DONE","attempt":0}]`,
		`[{"run_id":7,"task_id":3,"to":"DONE","attempt":0},{"run_id":7}]`,
		"[{\"run_id\":7,\"task_id\":3,\"to\":\"hunter2\xff\",\"attempt\":0}]",
	} {
		got, err := events.Decode(payload)
		require.ErrorIs(t, err, events.ErrPayload, payload)
		require.NotContains(t, err.Error(), "hunter2")
		require.Nil(t, got)
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	t.Parallel()
	long, bad := strings.Repeat("x", events.MaxPayload), "\xff"
	for _, transition := range []events.Transition{
		{RunID: 1, TaskID: 1},
		{RunID: 1, TaskID: 1, To: "DONE", Attempt: -1},
		{RunID: 1, TaskID: 1, To: bad},
		{RunID: 1, TaskID: 1, To: "DONE", From: bad},
		{RunID: 1, TaskID: 1, To: "DONE", ReplicaID: &bad},
		{RunID: 1, TaskID: 1, To: "DONE", ReplicaID: &long},
	} {
		_, err := events.Encode([]events.Transition{transition})
		require.ErrorIs(t, err, events.ErrTransition)
	}
}

func TestEncodeFillsPayloadsBeforeItSplits(t *testing.T) {
	t.Parallel()
	transitions := make([]events.Transition, 1000)
	for i := range transitions {
		transitions[i] = events.Transition{RunID: int64(i), TaskID: 1, From: "PENDING", To: "AVAILABLE"}
	}
	payloads, err := events.Encode(transitions)
	require.NoError(t, err)
	total := 0
	for _, payload := range payloads {
		total += len(payload)
	}
	// One more element would not have fitted: each is below 150 bytes.
	require.Len(t, payloads, (total+events.MaxPayload-1)/events.MaxPayload)
	for _, payload := range payloads[:len(payloads)-1] {
		require.Greater(t, len(payload), events.MaxPayload-150)
	}
}

func genTransition() *rapid.Generator[events.Transition] {
	return rapid.Custom(func(t *rapid.T) events.Transition {
		return events.Transition{
			RunID:     rapid.Int64().Draw(t, "run"),
			TaskID:    rapid.Int64().Draw(t, "task"),
			PlanID:    rapid.Ptr(rapid.Int64(), true).Draw(t, "plan"),
			From:      rapid.StringN(0, 20, 100).Draw(t, "from"),
			To:        rapid.StringN(1, 20, 100).Draw(t, "to"),
			Attempt:   rapid.IntMin(0).Draw(t, "attempt"),
			ReplicaID: rapid.Ptr(rapid.StringN(0, -1, 100), true).Draw(t, "replica"),
		}
	})
}

func TestWhatWasEncodedIsDecoded(t *testing.T) {
	t.Parallel()
	storetest.Check(t, 100, 10_000, func(t *rapid.T) {
		want := rapid.SliceOfN(genTransition(), 0, 200).Draw(t, "transitions")
		payloads, err := events.Encode(want)
		require.NoError(t, err)
		require.NotEmpty(t, payloads)
		got := []events.Transition{}
		for _, payload := range payloads {
			require.LessOrEqual(t, len(payload), events.MaxPayload)
			part, err := events.Decode(payload)
			require.NoError(t, err)
			require.Equal(t, len(want) == 0, len(part) == 0, "only nothing at all means look")
			got = append(got, part...)
		}
		require.Equal(t, want, got)
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "[]", "null", "[null]", "[{}]", "{", "[{\"run_id\":1e2}]", "\xff",
		`[{"run_id":7,"task_id":3,"plan_id":1,"from":"AVAILABLE","to":"RUNNING","attempt":2,"replica_id":"r"}]`,
		`[{"RUN_ID":7,"task_id":3,"from":null,"to":"\u0000<&>\u2028","attempt":0}, {"run_id":7,"task_id":3,"to":"D","attempt":0}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		got, err := events.Decode(payload)
		if err != nil {
			require.ErrorIs(t, err, events.ErrPayload)
			require.Nil(t, got)
			return
		}
		payloads, err := events.Encode(got)
		if err != nil { // escapes can make an element longer than it came
			require.ErrorIs(t, err, events.ErrTransition)
			require.Greater(t, 6*len(payload), events.MaxPayload-200)
			return
		}
		var again []events.Transition
		for _, p := range payloads {
			require.LessOrEqual(t, len(p), events.MaxPayload)
			part, err := events.Decode(p)
			require.NoError(t, err)
			again = append(again, part...)
		}
		require.Equal(t, got, again)
	})
}
