package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Plans are acted on by the words of their list, each where there is something to do.
func TestActsOnPlansByFilter(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.rollout() // plan 1, "ship": one task FAILED, one DONE, two PENDING
	for _, name := range []string{"store", "shop", "other"} {
		change(t, b.conn, `SELECT rowrun.create_plan($1, '[{"name": "x", "type": "NOOP"}, {"name": "y", "type": "NOOP"}]', 'shops')`, name)
	}
	change(t, b.conn, `SELECT rowrun.run_plan(2)`)
	preview := func(act, words string) []string {
		t.Helper()
		s := b.act(fmt.Sprintf(`{"preview": true, "act": %q, "on": {"kind": "plan", "filter": {%s}}}`, act, words))
		require.Equal(t, http.StatusOK, s.Status, s.Body)
		ids := []string{}
		for i := range at(t, s.value(), "sample").([]any) {
			ids = append(ids, at(t, s.value(), "sample", i, "id").(string))
		}
		require.Equal(t, fmt.Sprint(len(ids)), at(t, s.value(), "count"), s.Body)
		require.Contains(t, at(t, s.value(), "says", "text"), "plan")
		return ids
	}
	act := func(act, words, args, done string) {
		t.Helper()
		s := b.act(body(act, `{"kind": "plan", "filter": {`+words+`}}`, args))
		require.Equal(t, http.StatusOK, s.Status, s.Body)
		require.Equal(t, "DONE", at(t, s.value(), "state"), s.Body)
		require.Equal(t, done, at(t, s.value(), "done"), s.Body)
		require.Equal(t, "0", at(t, s.value(), "unchanged"), s.Body)
		require.Equal(t, "0", at(t, s.value(), "failed_count"), s.Body)
	}
	require.Equal(t, []string{"3", "4"}, preview("run", `"q": ""`))
	require.Equal(t, []string{"1", "2"}, preview("cancel", ``))
	require.Equal(t, []string{"1"}, preview("retry", ``))
	require.Equal(t, []string{"1"}, preview("cancel", `"status": "FAILED"`))
	require.Equal(t, []string{"2", "3", "4"}, preview("pause", `"project": "shops"`))
	require.Equal(t, []string{"3"}, preview("run", `"q": "SH", "project": "shops"`))
	require.Empty(t, preview("run", `"status": "DONE"`))
	require.Empty(t, preview("resume", ``))

	act("pause", `"project": "shops"`, "", "3")
	require.Equal(t, []string{"2", "3", "4"}, preview("resume", ``))
	require.Equal(t, []string{"1"}, preview("pause", ``))
	require.Equal(t, 3, query[int](t, b.conn, `SELECT count(*) FROM rowrun.plan WHERE paused`))
	act("resume", `"q": "o"`, "", "3")
	act("limit", `"project": "shops", "q": "t"`, `{"limit": 1}`, "2")
	require.Equal(t, 2, query[int](t, b.conn, `SELECT count(*) FROM rowrun.plan WHERE parallel_limit = 1`))
	act("run", `"project": "shops"`, "", "2")
	require.Equal(t, 6, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run r JOIN rowrun.plan p ON p.id = r.plan_id WHERE p.project = 'shops'`))
	act("cancel", `"project": "shops"`, `{"reason": "not now"}`, "3")
	require.Equal(t, 6, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run WHERE cancel_reason = 'not now'`))
	act("retry", `"status": "CANCELED"`, "", "3")
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'act.ended' AND message = 'ended: retry of all plans of a filter'`))

	for _, wrong := range []string{
		body("give_up", `{"kind": "plan", "filter": {}}`, ""), body("pause", `{"kind": "plan", "filter": {"type": "NOOP"}}`, ""), body("pause", `{"kind": "plan", "filter": {"status": ""}}`, ""),
		body("pause", `{"kind": "replica", "filter": {}}`, ""),
	} {
		require.Equal(t, http.StatusBadRequest, b.act(wrong).Status, wrong)
	}
}

// What was made after the act began is none of its targets, however many steps it takes.
func TestAnActOnManyPlansTakesSteps(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.plan (name) SELECT 'p' || n FROM generate_series(1, 450) n`)
	change(t, b.conn, `INSERT INTO rowrun.task (plan_id, type, name) SELECT id, 'NOOP', 'x' FROM rowrun.plan WHERE id % 9 = 0`)
	s := b.act(`{"preview": true, "act": "run", "on": {"kind": "plan", "filter": {}}}`)
	require.Equal(t, "50", at(t, s.value(), "count"), s.Body)
	begun := b.act(body("run", `{"kind": "plan", "filter": {}}`, ""))
	require.Equal(t, http.StatusOK, begun.Status, begun.Body)
	id := at(t, begun.value(), "act_id").(string)
	for more := true; more; {
		more = query[bool](t, b.conn, `SELECT coalesce(rowrun.step_act($1::bigint, 20), false)`, id)
	}
	require.Equal(t, "50", at(t, b.get("acts/"+id), "done"))
	require.Equal(t, 50, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`))
}
