package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestAPayloadReadsTheResultsOfItsDependencies(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	_, tasks := newPlan(t, conn, "build", "report", "skipped", "other", "late")
	exec(t, conn, `INSERT INTO rowrun.task_dependency SELECT $1, d FROM unnest($2::bigint[]) d`, tasks[1], []int64{tasks[0], tasks[2], tasks[4]})
	exec(t, conn, `INSERT INTO rowrun.task_dependency VALUES ($1, $2)`, tasks[4], tasks[3]) // somebody else's dependency
	exec(t, conn, `SELECT rowrun.skip_task($1)`, tasks[2])
	build := began(t, conn, tasks[0])
	require.Equal(t, "DONE", query[string](t, conn, `SELECT status FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], '{DONE}', ARRAY[$2::jsonb], '{NONE}')`, build,
		`{"id": 7, "none": null, "list": [{"a.b": "x"}], "text": "'; DROP TABLE t; --", "hostile": {"$result": "build", "path": "id"}, "big": "`+strings.Repeat("x", 600_000)+`"}`))
	for name, c := range map[string]struct{ payload, want, problem string }{
		"none":                 {payload: `{"a": {"b": 1}}`, want: `{"a": {"b": 1}}`},
		"a value":              {payload: `{"a": {"$result": "build", "path": "id"}}`, want: `{"a": 7}`},
		"deep within":          {payload: `{"a": [1, {"b": [{"$result": "build", "path": "text"}]}]}`, want: `{"a": [1, {"b": ["'; DROP TABLE t; --"]}]}`},
		"null":                 {payload: `{"a": {"$result": "build", "path": "none"}}`, want: `{"a": null}`},
		"a place in a list":    {payload: `{"a": {"$result": "build", "path": ["list", 0, "a.b"]}}`, want: `{"a": "x"}`},
		"what looks like one":  {payload: `{"a": {"$result": "build", "path": "hostile"}}`, want: `{"a": {"path": "id", "$result": "build"}}`},
		"what is executed":     {payload: `{"sql": {"$result": "build"}, "path": {"$result": "build"}, "command": [{"$result": "build"}], "transaction": {"$result": "build"}}`, want: `{"sql": {"$result": "build"}, "path": {"$result": "build"}, "command": [{"$result": "build"}], "transaction": {"$result": "build"}}`},
		"the payload itself":   {payload: `{"$result": "build"}`, problem: `"$result" stands for a value in the payload, not for the payload`},
		"no dependency":        {payload: `{"a": {"$result": "other"}}`, problem: `the task depends on none with the name "other", whose result its payload names: add the dependency`},
		"skipped":              {payload: `{"a": {"$result": "skipped"}}`, problem: `task "skipped", whose result the payload names, has none: it was skipped`},
		"not DONE":             {payload: `{"a": {"$result": "late"}}`, problem: `task "late", whose result the payload names, has none: it is not DONE`},
		"a path to nowhere":    {payload: `{"a": {"$result": "build", "path": "id.x"}}`, problem: `the result of task "build" has nothing at id.x`},
		"another member":       {payload: `{"a": {"$result": "build", "pth": "id"}}`, problem: `a reference is {"$result": "name of a task", "path": "key.key"}, and nothing else`},
		"no name":              {payload: `{"a": {"$result": 7}}`, problem: `a reference is {"$result": "name of a task", "path": "key.key"}, and nothing else`},
		"a path of objects":    {payload: `{"a": {"$result": "build", "path": [{}]}}`, problem: `a reference is {"$result": "name of a task", "path": "key.key"}, and nothing else`},
		"too large":            {payload: `{"a": {"$result": "build", "path": "big"}, "b": {"$result": "build", "path": "big"}}`, problem: "the results that the payload names are larger than 1 MiB: keep large data elsewhere and leave a reference"},
		"too many":             {payload: `{"a": [` + strings.Repeat(`{"$result": "build", "path": "id"}, `, 100) + `{"$result": "build", "path": "id"}]}`, problem: "the payload names more than 100 results"},
		"at the last level":    {payload: `{"a": ` + strings.Repeat("[", 99) + `{"$result": "build", "path": "id"}` + strings.Repeat("]", 99) + `}`, want: `{"a": ` + strings.Repeat("[", 99) + `7` + strings.Repeat("]", 99) + `}`},
		"below the last level": {payload: `{"a": ` + strings.Repeat("[", 100) + `{"$result": "build"}` + strings.Repeat("]", 100) + `}`, problem: "the payload names a result below its hundredth level: name it further up"},
		"far below that":       {payload: `{"a": [1, ` + strings.Repeat(`{"b": `, 950) + `{"$result": "build"}` + strings.Repeat("}", 950) + `]}`, problem: "the payload names a result below its hundredth level: name it further up"},
		"a text below it":      {payload: `{"a": ` + strings.Repeat("[", 300) + `"$result"` + strings.Repeat("]", 300) + `}`, want: `{"a": ` + strings.Repeat("[", 300) + `"$result"` + strings.Repeat("]", 300) + `}`},
		"executed, far below":  {payload: `{"command": ` + strings.Repeat("[", 300) + `{"$result": "build"}` + strings.Repeat("]", 300) + `}`, want: `{"command": ` + strings.Repeat("[", 300) + `{"$result": "build"}` + strings.Repeat("]", 300) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := query[string](t, conn, `SELECT coalesce(w.problem, w.whole::text) FROM rowrun.with_results($1, $2::jsonb) w`, tasks[1], c.payload)
			require.Equal(t, c.want+c.problem, got)
		})
	}
}

// A worker gets the payload as replicas give it; where a result isn't to be had, the run fails and is not handed out.
func TestAWorkerGetsResultsOfDependencies(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SELECT rowrun.create_plan('p', '[{"name": "a", "type": "OWN"}, {"name": "b", "type": "OWN", "depends_on": ["a"], "payload": {"x": {"$result": "a", "path": "n"}, "y": 1}},
		{"name": "c", "type": "OWN", "depends_on": ["a"], "payload": {"x": {"$result": "a", "path": "gone"}}}]')`)
	exec(t, conn, `SELECT rowrun.run_plan(id) FROM rowrun.plan`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	first := claimForW(t, conn, "1", 9, "1 min")
	require.Len(t, first, 1)
	exec(t, conn, `SELECT rowrun.finish_runs($1, 'w', jsonb_build_array(jsonb_build_object('claim', $2::text, 'status', 'DONE', 'result', '{"n": [1]}'::jsonb)))`,
		requestID("2"), claimsOf(first)[0])
	exec(t, conn, `UPDATE rowrun.task_run SET input = '{"y": {"$result": "a"}}' WHERE status = 'PENDING'`)
	exec(t, conn, `SELECT rowrun.promote_runs(true)`)
	require.Equal(t, `2 {"x": [1], "y": {"$result": "a"}}`, query[string](t, conn,
		`SELECT string_agg(run_id || ' ' || payload, '; ') FROM rowrun.claim_runs($1, 'w', '{OWN}', 9)`, requestID("3")))
	require.Equal(t, `FAILED {"code": "BAD_INPUT", "detail": "the result of task \"a\" has nothing at gone"}`,
		query[string](t, conn, `SELECT status || ' ' || result::text FROM rowrun.task_run WHERE id = 3`))
}
