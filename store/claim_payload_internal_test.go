package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAnExecutorGets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given assignment
		want  string
	}{
		"nothing to lay over":    {assignment{payload: []byte(`{"a": 1}`), input: []byte(`{}`)}, `{"a": 1}`},
		"input over payload":     {assignment{payload: []byte(`{"a": 1, "b": 2}`), input: []byte(`{"b": 3}`)}, `{"a": 1, "b": 3}`},
		"payload over state":     {assignment{payload: []byte(`{"state": 1}`), input: []byte(`{}`), state: []byte(`{"n": 7}`)}, `{"state": 1}`},
		"state below":            {assignment{payload: []byte(`{"a": 1}`), input: []byte(`{}`), state: []byte(`{"n": 7}`)}, `{"a": 1, "state": {"n": 7}}`},
		"members stay whole":     {assignment{payload: []byte(`{"a": {"x": 1}}`), input: []byte(`{"a": {"y": "<&>"}}`)}, `{"a": {"y": "<&>"}}`},
		"numbers as they are":    {assignment{payload: []byte(`{}`), input: []byte(`{"n": 123456789012345678901234567890.10}`)}, `{"n": 123456789012345678901234567890.10}`},
		"a lone surrogate stays": {assignment{payload: []byte(`{"a": "\ud800"}`), input: []byte(`{"b": 1}`)}, `{"a": "\ud800", "b": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.JSONEq(t, c.want, string(c.given.whole()))
		})
	}
	require.Contains(t, string((&assignment{payload: []byte(`{}`), input: []byte(`{"n": 1.10}`)}).whole()), "1.10")
	require.Equal(t, "{\"a\": \"\xff\"}", string((&assignment{payload: []byte("{\"a\": \"\xff\"}"), input: []byte(`{"b": 1}`)}).whole()), "refused where it is executed")
}

func TestWhatIsNotExecuted(t *testing.T) {
	t.Parallel()
	a, b := "a", "b"
	for name, c := range map[string]struct {
		given assignment
		want  string
	}{
		"as it was":                     {assignment{kind: "SQL", taskKind: "SQL", database: &a, taskDatabase: &a, input: []byte(`{}`)}, ""},
		"another type":                  {assignment{kind: "SQL", taskKind: "HTTP", input: []byte(`{}`)}, "task type changed from SQL to HTTP"},
		"its type has another name":     {assignment{kind: "OLD", taskKind: "NEW", alias: "NEW", input: []byte(`{}`)}, ""},
		"and that is of another":        {assignment{kind: "OLD", taskKind: "NEW", alias: "OTHER", input: []byte(`{}`)}, "task type changed"},
		"another target":                {assignment{kind: "SQL", taskKind: "SQL", database: &a, taskDatabase: &b, input: []byte(`{}`)}, "database_id changed from a to b"},
		"no target any more":            {assignment{kind: "SQL", taskKind: "SQL", database: &a, input: []byte(`{}`)}, "database_id changed from a to none"},
		"a target that isn't used":      {assignment{kind: "COMMAND", taskKind: "COMMAND", database: &a, taskDatabase: &b, input: []byte(`{}`)}, ""},
		"another version":               {assignment{kind: "DATABASE_MIGRATE", taskKind: "DATABASE_MIGRATE", version: &a, taskVersion: &b, input: []byte(`{}`)}, "version changed from a to b"},
		"a version that isn't used":     {assignment{kind: "SQL", taskKind: "SQL", version: &a, taskVersion: &b, input: []byte(`{}`)}, ""},
		"a text of its own":             {assignment{kind: "SQL", taskKind: "SQL", input: []byte(`{"sql": "DROP TABLE x"}`)}, "names sql, transaction or command"},
		"parameters":                    {assignment{kind: "SQL", taskKind: "SQL", input: []byte(`{"args": ["sql"]}`)}, ""},
		"a type to which sql is a word": {assignment{kind: "HTTP", taskKind: "HTTP", input: []byte(`{"sql": "x"}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want == "" {
				require.Empty(t, c.given.unfit())
			} else {
				require.Contains(t, c.given.unfit(), c.want)
			}
		})
	}
	require.Equal(t, "00-x", (&assignment{input: []byte(`{"traceparent": "00-x"}`)}).traceParent())
	require.Empty(t, (&assignment{input: []byte(`{"traceparent": 7}`)}).traceParent())
}
