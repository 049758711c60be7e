package scheduler_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// An executor gets the results that the payload of its task names; the run's input is data, whatever it looks like. A result that
// isn't to be had fails the run.
func TestAnExecutorGetsTheResultsThatItsPayloadNames(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c := newClient(t, url)
	var mu sync.Mutex
	got := map[string]string{}
	startReplica(t, url, func(_ context.Context, run *scheduler.Run) (scheduler.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		got[run.TaskName] = string(run.Payload)
		return scheduler.Result{Output: map[string]any{"n": 7, "of": json.RawMessage(`{"$result": "a"}`)}}, nil
	}, nil)
	plan := c.int(`SELECT rowrun.create_plan('p', replace('[{"name": "a", "type": "T", "payload": {"x": 1}},
		{"name": "b", "type": "T", "depends_on": ["a"], "payload": {"x": {"$result": "a", "path": "n"}, "y": [{"$result": "a"}], "z": {"$result": "a"}}},
		{"name": "c", "type": "T", "depends_on": ["a"], "max_attempts": 3, "payload": {"x": {"$result": "b", "path": "n"}}}]', '"T"', '"` + workType + `"')::jsonb)`)
	c.exec(`INSERT INTO rowrun.task_run (task_id, input) SELECT id, CASE name WHEN 'b' THEN '{"z": {"$result": "a"}}'::jsonb ELSE '{}' END FROM rowrun.task WHERE plan_id = $1 ORDER BY id`, plan)
	poll(t, "the end of all", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE status IN ('DONE', 'FAILED', 'CANCELED')`) == 3
	})
	require.Equal(t, `FAILED {"code": "BAD_INPUT", "detail": "the task depends on none with the name \"b\", whose result its payload names: add the dependency"}`,
		c.text(`SELECT r.status || ' ' || r.result::text FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'c'`))
	mu.Lock()
	defer mu.Unlock()
	require.JSONEq(t, `{"x": 1}`, got["a"])
	require.JSONEq(t, `{"x": 7, "y": [{"n": 7, "of": {"$result": "a"}}], "z": {"$result": "a"}}`, got["b"])
	require.NotContains(t, got, "c")
}
