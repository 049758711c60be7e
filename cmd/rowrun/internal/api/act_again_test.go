package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// numbers are the ids from 1 to n, as an act names them; last stands in the place of n.
func numbers(n, last int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", fmt.Sprint(i+1))
	}
	ids[n-1] = fmt.Sprintf("%q", fmt.Sprint(last))
	return `{"kind": "run", "ids": [` + strings.Join(ids, ", ") + `]}`
}

func TestARequestIDStandsForOneActInAllItsWords(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(3)
	plan := fmt.Sprintf(`{"kind": "plan", "ids": ["%d"]}`, b.rollout())
	for what, two := range map[string][2]struct{ act, on, args string }{
		"another limit":       {{"limit", plan, `{"limit": 5}`}, {"limit", plan, `{"limit": 10}`}},
		"no limit":            {{"limit", plan, `{"limit": 5}`}, {"limit", plan, `{"limit": null}`}},
		"another reason":      {{"cancel", numbers(1, 1), `{"reason": "a"}`}, {"cancel", numbers(1, 1), `{"reason": "b"}`}},
		"one more":            {{"retry", numbers(2, 2), ""}, {"retry", numbers(3, 3), ""}},
		"one less":            {{"retry", numbers(3, 3), ""}, {"retry", numbers(2, 2), ""}},
		"one more of many":    {{"retry", numbers(205, 205), ""}, {"retry", numbers(206, 206), ""}},
		"another one of many": {{"retry", numbers(205, 205), ""}, {"retry", numbers(205, 999), ""}},
		"ids after a filter":  {{"retry", `{"kind": "run", "filter": {"failed": "1"}}`, ""}, {"retry", numbers(1, 1), ""}},
		"a filter after ids":  {{"retry", numbers(1, 1), ""}, {"retry", `{"kind": "run", "filter": {"failed": "1"}}`, ""}},
		"another filter":      {{"retry", `{"kind": "run", "filter": {"failed": "1"}}`, ""}, {"retry", `{"kind": "run", "filter": {"failed": "1", "type": "NOOP"}}`, ""}},
	} {
		id := uuid.NewString()
		first := b.act(bodyOf(id, two[0].act, two[0].on, two[0].args))
		require.Equal(t, http.StatusOK, first.Status, "%s: %s", what, first.Body)
		other := b.act(bodyOf(id, two[1].act, two[1].on, two[1].args))
		require.Equal(t, http.StatusConflict, other.Status, "%s: %s", what, other.Body)
		require.Equal(t, "conflict", at(t, other.value(), "error", "code"))
		again := b.act(bodyOf(id, two[0].act, two[0].on, two[0].args))
		require.Equal(t, http.StatusOK, again.Status, "%s: %s", what, again.Body)
		require.Equal(t, at(t, first.value(), "act_id"), at(t, again.value(), "act_id"), what)
	}
}

// A filter whose statuses came out empty at the caller's would be one of everything.
func TestAFilterOfNoStatusIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(2)
	for _, kind := range []string{"run", "task"} {
		for _, preview := range []string{"true", "false"} {
			s := b.act(fmt.Sprintf(`{"request_id": %q, "preview": %s, "act": "retry", "on": {"kind": %q, "filter": {"status": "", "type": "NOOP"}}}`, uuid.NewString(), preview, kind))
			require.Equal(t, http.StatusBadRequest, s.Status, s.Body)
			require.Contains(t, at(t, s.value(), "error", "message"), "status")
		}
	}
	require.Equal(t, 2, query[int](t, b.conn, `SELECT count(*) FROM rowrun.task_run`))
}

// A run that has failed and is retried by itself is over: its successor is another run, which is canceled where it is named.
func TestACancelTellsWhatItDoes(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(1)
	change(t, b.conn, `SELECT rowrun.retry_run(1)`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = 2`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x' WHERE id = 2`)
	const asked = `SELECT cancel_requested_at IS NOT NULL FROM rowrun.task_run WHERE id = 2`
	for _, step := range []struct {
		what, on string
		done     bool
	}{
		{"a run that has a successor", `{"kind": "run", "ids": ["1"]}`, false},
		{"the successor", `{"kind": "run", "ids": ["2"]}`, true},
		{"a run that was asked to end", `{"kind": "run", "ids": ["2"]}`, false},
		{"a task whose run was asked to end", `{"kind": "task", "ids": ["1"]}`, false},
	} {
		before := query[bool](t, b.conn, asked)
		n, runs := "0", 0
		if step.done {
			n, runs = "1", 1
		}
		preview := b.act(`{"preview": true, "act": "cancel", "on": ` + step.on + `}`)
		require.Equal(t, n, at(t, preview.value(), "count"), "%s: %s", step.what, preview.Body)
		act := b.act(body("cancel", step.on, ""))
		require.Equal(t, n, at(t, act.value(), "done"), "%s: %s", step.what, act.Body)
		require.Equal(t, "0", at(t, act.value(), "failed_count"), "%s: %s", step.what, act.Body)
		require.Len(t, at(t, b.get("runs?act="+at(t, act.value(), "act_id").(string)), "items"), runs, step.what)
		require.Equal(t, step.done, query[bool](t, b.conn, asked) != before, step.what)
	}
}

// A run may end between the look at it and its lock.
func TestACancelThatComesTooLateIsNotDone(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"run", "task"} {
		b := start(t, nil)
		change(t, b.conn, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'ends')`)
		change(t, b.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
		change(t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x'`)
		ending, canceling := b.other(), b.other()
		change(t, ending, `BEGIN`)
		change(t, ending, `UPDATE rowrun.task_run SET status = 'DONE'`)
		pid := canceling.PgConn().PID()
		type answer struct {
			nothing bool
			err     error
		}
		ended := make(chan answer, 1)
		go func() {
			var a answer
			a.err = canceling.QueryRow(t.Context(), `SELECT rowrun.do_act('cancel', $1, '1', '{}') IS NULL`, kind).Scan(&a.nothing)
			ended <- a
		}()
		require.Eventually(t, func() bool {
			return query[bool](t, b.conn, `SELECT cardinality(pg_blocking_pids($1::int)) > 0`, pid)
		}, testPatience, testLook, "the cancel waits for the end")
		change(t, ending, `COMMIT`)
		a := <-ended
		require.NoError(t, a.err)
		require.True(t, a.nothing, kind)
	}
}

// A webhook's test is sent by the process that was asked: where that has ended, nobody knows what became of it.
func TestATestOfAWebhookThatWasLeftEnds(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	change(t, b.conn, `INSERT INTO rowrun.act (request_id, created_at, verb, kind, asked_by, targets) VALUES
		(gen_random_uuid(), clock_timestamp() - interval '2 minutes', 'test', 'webhook', 'bob', '{7}'),
		(gen_random_uuid(), clock_timestamp(), 'test', 'webhook', 'bob', '{7}')`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.api.Run(ctx) }()
	require.Eventually(t, func() bool {
		return query[string](t, b.conn, `SELECT state FROM rowrun.act WHERE id = 1`) == "DONE"
	}, testPatience, testLook)
	cancel()
	require.NoError(t, <-ended)
	left := b.get("acts/1")
	require.Equal(t, "0", at(t, left, "done"))
	require.Equal(t, "1", at(t, left, "failed_count"))
	require.Equal(t, "7", at(t, left, "failed", 0, "id"))
	require.Contains(t, at(t, left, "failed", 0, "message"), "not known how it went")
	require.NotNil(t, at(t, left, "ended_at"))
	require.Equal(t, 1, query[int](t, b.conn, `SELECT count(*) FROM rowrun.stream_note WHERE event = 'act.ended' AND detail ->> 'act_id' = '1'`))
	require.Equal(t, "RUNNING", at(t, b.get("acts/2"), "state"), "it may still be on its way")
}

// A step that its request gave up after two seconds holds the act for a moment more, in which nobody else can go on with it.
func TestAnActThatSomebodyWasAtIsGoneOnWithSoon(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(50)
	change(t, b.conn, `INSERT INTO rowrun.act (request_id, verb, kind, asked_by, search, bound)
		VALUES (gen_random_uuid(), 'retry', 'run', 'bob', '{"failed": true, "unretried": true}', 50)`)
	change(t, b.conn, `INSERT INTO rowrun.act (request_id, verb, kind, asked_by, targets) VALUES (gen_random_uuid(), 'cancel', 'run', 'bob', '{1}')`)
	step := b.other()
	change(t, step, `BEGIN`)
	change(t, step, `SELECT FROM rowrun.act WHERE id = 1 FOR NO KEY UPDATE`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.api.Run(ctx) }()
	done := func(id int) func() bool {
		return func() bool {
			return query[string](t, b.conn, `SELECT state FROM rowrun.act WHERE id = $1`, id) == "DONE"
		}
	}
	require.Eventually(t, done(2), testPatience, testLook, "which comes after the first")
	change(t, step, `ROLLBACK`)
	require.Eventually(t, done(1), 15*time.Second, testLook, "long before acts are looked for that were left")
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, 50, query[int](t, b.conn, `SELECT done FROM rowrun.act WHERE id = 1`))
}
