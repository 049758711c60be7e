package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// inWaves makes plan 1 of tasks 1 to 5: 1 is in wave 1, 2 and 3 in wave 2, 4 and 5 in the last. The second has stopped: 2 FAILED.
func (b *board) inWaves() {
	b.t.Helper()
	change(b.t, b.conn, `INSERT INTO rowrun.plan (name, on_failure) VALUES ('waves', 'CONTINUE')`)
	change(b.t, b.conn, `INSERT INTO rowrun.task (plan_id, name, type) SELECT 1, 't' || n, 'NOOP' FROM generate_series(1, 5) n`)
	change(b.t, b.conn, `SELECT rowrun.add_waves(1, '[{"name": "canary", "soak": 1, "tasks": [1]}, {"name": "half", "tasks": [2, 3]}, {"name": "rest", "tasks": [4, 5]}]')`)
	change(b.t, b.conn, `SELECT rowrun.run_plan(1)`)
	b.passes()
	b.end(1, "DONE")
	change(b.t, b.conn, `UPDATE rowrun.plan_wave SET soak = '0'`)
	b.passes()
	b.end(2, "FAILED")
	b.end(3, "DONE")
	b.passes()
}

// passes judges what waits until there is nothing more to judge.
func (b *board) passes() {
	b.t.Helper()
	for range 20 {
		change(b.t, b.conn, `SELECT rowrun.promote_runs(true)`)
		if query[bool](b.t, b.conn, `SELECT NOT EXISTS (SELECT FROM rowrun.gate_mark)`) {
			return
		}
	}
	require.Fail(b.t, "passes leave marks for ever")
}

// end has the AVAILABLE run of a task run and end.
func (b *board) end(task int, status string) {
	b.t.Helper()
	change(b.t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x' WHERE task_id = $1 AND status = 'AVAILABLE'`, task)
	change(b.t, b.conn, `UPDATE rowrun.task_run SET status = $2 WHERE task_id = $1 AND status = 'RUNNING'`, task, status)
}

func TestAPlansWavesAreShownAndMoved(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]struct {
		count, done string
		waves       [3]string
	}{
		"resume_wave": {"1", "1", [3]string{"DONE", "RUNNING", "WAITING"}},
		"roll_on":     {"2", "1", [3]string{"DONE", "DONE", "RUNNING"}},
		"give_up":     {"2", "1", [3]string{"DONE", "STOPPED", "WAITING"}},
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			b := start(t, nil)
			b.inWaves()
			plan := b.get("plans/1")
			for i, status := range []string{"DONE", "STOPPED", "WAITING"} {
				require.Equal(t, status, at(t, plan, "waves", i, "status"))
			}
			require.Equal(t, "half", at(t, plan, "waves", 1, "name"))
			require.Equal(t, "1", at(t, plan, "waves", 1, "failed"))
			require.NotNil(t, at(t, plan, "waves", 1, "stopped_at"))
			require.Nil(t, at(t, plan, "waves", 2, "opened_at"))
			on := `{"kind": "plan", "ids": ["1"]}`
			preview := b.act(fmt.Sprintf(`{"act": %q, "on": %s, "preview": true}`, verb, on))
			require.Equal(t, http.StatusOK, preview.Status, preview.Body)
			require.Equal(t, want.count, at(t, preview.value(), "count"))
			s := b.act(body(verb, on, `{"reason": "enough"}`))
			require.Equal(t, want.done, at(t, s.value(), "done"), s.Body)
			b.passes()
			plan = b.get("plans/1")
			for i, status := range want.waves {
				require.Equal(t, status, at(t, plan, "waves", i, "status"), i)
			}
			if verb == "give_up" {
				require.Equal(t, 2, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'CANCELED' AND cancel_reason = 'enough'`))
			}
		})
	}
}

// Who saw that the last wave is the next one opens that one: asked for twice it is opened once.
func TestAWaveThatWasSeenIsOpenedOnce(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.inWaves()
	const on = `{"kind": "plan", "ids": ["1"]}`
	const preview = `{"act": "roll_on", "preview": true, "on": ` + on + `, "args": {"wave": 3}}`
	require.Equal(t, "2", at(t, b.act(preview).value(), "count"))
	require.Equal(t, "1", at(t, b.act(body("roll_on", on, `{"wave": 3}`)).value(), "done"))
	require.Equal(t, "0", at(t, b.act(preview).value(), "count"), "it is open already")
	require.Equal(t, "1", at(t, b.act(body("roll_on", on, `{"wave": 3}`)).value(), "unchanged"))
	s := b.act(body("roll_on", on, `{"wave": 4}`))
	require.Contains(t, at(t, s.value(), "failed", 0, "message"), "plan 1 has no wave 4")
	for args, words := range map[string]string{`{"wave": 0}`: "args.wave is not accepted", `{"wave": 2147483648}`: "args.wave is not accepted", `{"wave": "3"}`: "cannot unmarshal string"} {
		s := b.act(body("roll_on", on, args))
		require.Equal(t, http.StatusBadRequest, s.Status, args)
		require.Contains(t, s.Body, words)
	}
	require.Equal(t, http.StatusBadRequest, b.act(body("give_up", on, `{"wave": 3}`)).Status)
}

func TestAPlanWithoutWavesIsNotMoved(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	plan := b.rollout()
	require.Empty(t, at(t, b.get(fmt.Sprintf("plans/%d", plan)), "waves"))
	on := fmt.Sprintf(`{"kind": "plan", "ids": ["%d"]}`, plan)
	require.Equal(t, "0", at(t, b.act(`{"act": "roll_on", "preview": true, "on": `+on+`}`).value(), "count"))
	s := b.act(body("roll_on", on, ""))
	require.Equal(t, "1", at(t, s.value(), "failed_count"))
	require.Contains(t, at(t, s.value(), "failed", 0, "message"), "has no waves")
}

// What needs attention is a filter of the API's own, so that an act on it reaches as many tasks as there are.
func TestWhatNeedsAttentionIsAFilter(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.plan (name) VALUES ('many')`)
	change(t, b.conn, `INSERT INTO rowrun.task (plan_id, name, type, database_id) SELECT 1, 't' || n, 'NOOP', 'd' || n FROM generate_series(1, 1300) n`)
	change(t, b.conn, `SELECT rowrun.run_plan(1)`)
	change(t, b.conn, `SELECT rowrun.promote_runs(true)`) // no replica lives
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE task_id <= 1100`)
	change(t, b.conn, `UPDATE rowrun.task SET paused = true WHERE id > 1250`)
	change(t, b.conn, `UPDATE rowrun.task_run SET cause = 'PAUSED' WHERE task_id > 1250`)
	require.Len(t, at(t, b.get("tasks?plan=1&attention=1&limit=200"), "items"), 200)
	preview := b.act(`{"act": "retry", "preview": true, "on": {"kind": "task", "filter": {"plan": "1", "attention": "1"}}}`)
	require.Equal(t, "1100", at(t, preview.value(), "count"), preview.Body)
	preview = b.act(`{"act": "cancel", "preview": true, "on": {"kind": "task", "filter": {"plan": "1", "attention": "1"}}}`)
	require.Equal(t, "150", at(t, preview.value(), "count"), "what is paused needs none")
	preview = b.act(`{"act": "pause", "preview": true, "on": {"kind": "task", "filter": {"plan": "1", "attention": "1"}}}`)
	require.Equal(t, at(t, b.get("plans/1"), "attention"), at(t, preview.value(), "count"), "as many as the plan's page counts")
	require.Equal(t, http.StatusBadRequest, b.ask(http.MethodGet, "/api/v1/tasks?attention=maybe", "").Status)
}
