package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store/storetest"
)

// Rounds as the contract tells them, in Go, beside what the database announces: a plan's tasks are run, fail, are
// retried by themselves and by people, skipped, paused and canceled, by functions and by hand, in random order. After
// each step the promotion settles what is to be settled, and both sides must have announced the same.
func TestRoundsFollowTheModel(t *testing.T) {
	t.Parallel()
	storetest.CheckWith(t, 100, 2000, func(t *testing.T) func(*rapid.T) {
		conn := connect(t, storetest.New(t))
		exec(t, conn, `INSERT INTO rowrun.webhook (url) VALUES ('env:X')`)
		return func(rt *rapid.T) {
			tx, err := conn.Begin(t.Context())
			require.NoError(rt, err)
			defer func() { require.NoError(rt, tx.Rollback(context.WithoutCancel(t.Context()))) }()
			w := &rounds{db: &model{t: rt, ctx: t.Context(), conn: conn}, round: 1, announced: map[int]string{}, tasks: map[int64]*roundTask{}}
			w.begin()
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				w.step()
				w.settle()
				w.compare()
			}
		}
	})
}

// rounds is the model of one plan.
type rounds struct {
	db        *model
	plan      int64
	round     int
	retries   int // rounds begun by runs after the first
	announced map[int]string
	paused    bool
	tasks     map[int64]*roundTask
	story     []string
}

type roundTask struct {
	skipped  bool
	outcome  string // how it last ended for good
	failedIn int    // the round that its failure counts for
	run      *roundRun
}

// roundRun is an unfinished run.
type roundRun struct {
	id     int64
	status string
	round  int
	retry  int // automatic retries that are left
}

func (w *rounds) begin() {
	w.plan = w.db.ids(`INSERT INTO rowrun.plan (parallel_limit, on_failure) VALUES ($1, $2) RETURNING id`,
		draw(w.db, "limit", any(nil), 1), draw(w.db, "on_failure", "CONTINUE", "CONTINUE", "STOP"))[0]
	w.db.ids(`INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('x', clock_timestamp(), '1 hour', '{NOOP}') RETURNING 1`)
	for range rapid.IntRange(1, 4).Draw(w.db.t, "tasks") {
		w.add()
	}
}

func (w *rounds) add() {
	id := w.db.ids(`INSERT INTO rowrun.task (plan_id, type, max_attempts, retry_delay) VALUES ($1, 'NOOP', 2, '0') RETURNING id`, w.plan)[0]
	w.tasks[id] = &roundTask{}
}

// current is the round of a run that is made now.
func (w *rounds) current() int {
	if w.announced[w.round] != "" {
		return w.round + 1
	}
	return w.round
}

// decide says what is to be announced now.
func (w *rounds) decide() {
	if w.announced[w.round] != "" {
		return
	}
	complete := len(w.tasks) > 0 && !w.paused
	for _, k := range w.tasks {
		if k.outcome == "FAILED" && !k.skipped && k.failedIn == w.round && k.run == nil {
			w.announced[w.round] = fmt.Sprintf("%d PIPELINE_FAILED %d", w.round, w.retries)
			return
		}
		complete = complete && (k.skipped || k.outcome == "DONE" && k.run == nil)
	}
	if complete {
		w.announced[w.round] = fmt.Sprintf("%d PIPELINE_COMPLETED %d", w.round, w.retries)
	}
}

// promoted notes that a run was.
func (w *rounds) promoted(r *roundRun) {
	r.status = "AVAILABLE"
	if r.round > w.round {
		w.round = r.round
		w.retries++
	}
}

func (w *rounds) ended(k *roundTask, status string) {
	k.run, k.outcome = nil, status
	if status == "FAILED" {
		k.failedIn = w.round
	}
}

// some is a task whose unfinished run has that status, "": that has none.
func (w *rounds) some(status string) (id int64, k *roundTask) {
	var fit []int64
	for id, k := range w.tasks {
		if k.run == nil && status == "" || k.run != nil && k.run.status == status {
			fit = append(fit, id)
		}
	}
	if len(fit) == 0 {
		return 0, nil
	}
	slices.Sort(fit)
	id = draw(w.db, "task", fit...)
	return id, w.tasks[id]
}

func (w *rounds) made(k *roundTask, id int64) {
	k.run = &roundRun{id: id, status: "PENDING", round: w.current(), retry: 1}
}

func (w *rounds) step() {
	what := draw(w.db, "what", "insert", "insert", "insert", "claim", "claim", "claim", "done", "done", "done", "fail", "fail", "fail for good",
		"done by hand", "fail by hand", "promote by hand", "cancel", "retry", "retry plan", "run plan", "cancel plan", "skip", "skip", "unskip", "pause", "resume",
		"add", "delete run", "delete task")
	byHand := rapid.Bool().Draw(w.db.t, "by hand")
	w.story = append(w.story, what)
	switch what {
	case "insert":
		if id, k := w.some(""); k != nil {
			w.made(k, w.db.ids(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, id)[0])
		}
	case "claim":
		if _, k := w.some("AVAILABLE"); k != nil && !w.paused {
			w.db.ids(`UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x' WHERE id = $1 RETURNING id`, k.run.id)
			k.run.status = "RUNNING"
		}
	case "done", "fail", "fail for good":
		w.end(what)
	case "done by hand", "fail by hand":
		if _, k := w.some("RUNNING"); k != nil {
			status := map[string]string{"done by hand": "DONE", "fail by hand": "FAILED"}[what]
			w.db.ids(`UPDATE rowrun.task_run SET status = $2 WHERE id = $1 RETURNING id`, k.run.id, status)
			w.ended(k, status)
		}
	case "promote by hand":
		if _, k := w.some("PENDING"); k != nil && !k.skipped {
			w.db.ids(`UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1 RETURNING id`, k.run.id)
			w.promoted(k.run)
		}
	case "cancel":
		if _, k := w.some(draw(w.db, "status", "PENDING", "AVAILABLE")); k != nil {
			w.db.ids(`SELECT 1 FROM rowrun.cancel_run($1)`, k.run.id)
			w.ended(k, "CANCELED")
		}
	case "retry":
		if id, k := w.some(""); k != nil && !k.skipped && (k.outcome == "FAILED" || k.outcome == "CANCELED") {
			w.made(k, w.db.ids(`SELECT rowrun.retry_run(max(id)) FROM rowrun.task_run WHERE task_id = $1`, id)[0])
		}
	case "retry plan", "run plan":
		w.whole(what)
	case "cancel plan":
		w.db.ids(`SELECT rowrun.cancel_plan($1)`, w.plan)
		for _, k := range w.tasks {
			if k.run != nil && k.run.status != "RUNNING" {
				w.ended(k, "CANCELED")
			} else if k.run != nil {
				k.run.retry = -1
			}
		}
	case "skip", "unskip":
		w.skip(what == "skip", byHand)
	case "pause", "resume":
		w.paused = what == "pause"
		w.db.ids(`UPDATE rowrun.plan SET paused = $2 WHERE id = $1 RETURNING 1`, w.plan, w.paused)
	case "add":
		if len(w.tasks) < 6 {
			w.add()
		}
	case "delete run":
		if _, k := w.some("PENDING"); k != nil && k.outcome != "FAILED" && k.run.retry == 1 {
			w.db.ids(`DELETE FROM rowrun.task_run WHERE id = $1 RETURNING id`, k.run.id)
			k.run = nil
		}
	case "delete task":
		if id, k := w.some(""); k != nil {
			w.db.ids(`DELETE FROM rowrun.task WHERE id = $1 RETURNING id`, id)
			delete(w.tasks, id)
		}
	}
	w.decide()
}

// end ends a run as replicas do.
func (w *rounds) end(what string) {
	_, k := w.some("RUNNING")
	if k == nil {
		return
	}
	status, retry := "DONE", "NONE"
	if what != "done" {
		status = "FAILED"
	}
	if what == "fail" {
		retry = "FAILURE"
	}
	w.db.ids(`SELECT run_id FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], ARRAY[$2], ARRAY['{}'::jsonb], ARRAY[$3])`, k.run.id, status, retry)
	switch {
	case status == "FAILED" && k.run.retry < 0:
		w.ended(k, "CANCELED") // it was asked for
	case status == "FAILED" && retry == "FAILURE" && k.run.retry > 0:
		next := w.db.ids(`SELECT retry_run_id FROM rowrun.task_run WHERE id = $1`, k.run.id)[0]
		k.run = &roundRun{id: next, status: "PENDING", round: k.run.round}
	default:
		w.ended(k, status)
	}
}

// whole asks for runs of a plan's tasks together.
func (w *rounds) whole(what string) {
	q := `SELECT id FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`
	fits := func(k *roundTask) bool { return k.outcome == "FAILED" || k.outcome == "CANCELED" }
	ask := `SELECT rowrun.retry_plan($1)`
	if what == "run plan" {
		fits = func(k *roundTask) bool { return k.outcome == "" }
		ask = `SELECT rowrun.run_plan($1)`
	}
	n := 0
	made := len(w.db.ids(ask, w.plan))
	for id, k := range w.tasks {
		if k.run == nil && !k.skipped && fits(k) {
			w.made(k, w.db.ids(q, id)[0])
			n++
		}
	}
	require.Equal(w.db.t, n, made, what)
}

func (w *rounds) skip(skip, byHand bool) {
	var fit []int64
	for id, k := range w.tasks {
		if k.skipped != skip && (k.run == nil || k.run.status == "PENDING") {
			fit = append(fit, id)
		}
	}
	if len(fit) == 0 {
		return
	}
	slices.Sort(fit)
	id := draw(w.db, "task", fit...)
	k := w.tasks[id]
	switch {
	case byHand:
		w.db.ids(`UPDATE rowrun.task SET skipped = $2 WHERE id = $1 RETURNING id`, id, skip)
	case skip:
		w.db.ids(`SELECT 1 FROM rowrun.skip_task($1)`, id)
	default:
		w.db.ids(`SELECT 1 FROM rowrun.unskip_task($1)`, id)
	}
	if w.announced[w.round] != "" {
		w.round++
	}
	k.skipped = skip
	if skip && k.run != nil {
		w.ended(k, "CANCELED")
	}
}

// settle lets the promotion do its work and tells the model what was promoted, or canceled because it is skipped.
func (w *rounds) settle() {
	for more, passes := true, 0; more; passes++ {
		var promoted int
		require.NoError(w.db.t, w.db.conn.QueryRow(w.db.ctx, `SELECT promoted, more FROM rowrun.promote_runs()`).Scan(&promoted, &more))
		more = more || promoted > 0
		require.Less(w.db.t, passes, 50, "the pass never ends")
	}
	for _, k := range w.tasks {
		if k.run == nil || k.run.status != "PENDING" {
			continue
		}
		var status string
		require.NoError(w.db.t, w.db.conn.QueryRow(w.db.ctx, `SELECT status FROM rowrun.task_run WHERE id = $1`, k.run.id).Scan(&status))
		switch status {
		case "AVAILABLE":
			require.False(w.db.t, k.skipped)
			w.promoted(k.run)
		case "CANCELED":
			require.True(w.db.t, k.skipped)
			w.ended(k, status)
		}
	}
	w.decide()
}

func (w *rounds) compare() {
	rows, err := w.db.conn.Query(w.db.ctx, `SELECT concat_ws(' ', round, event_type, payload::jsonb #>> '{data,retry_count}')
		FROM rowrun.webhook_delivery WHERE plan_id = $1 ORDER BY id`, w.plan)
	require.NoError(w.db.t, err)
	told, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.db.t, err)
	want := []string{}
	for round := range w.round + 1 {
		if said := w.announced[round]; said != "" {
			want = append(want, said)
		}
	}
	require.Equal(w.db.t, want, told, "%v", w.story)
	var state string
	require.NoError(w.db.t, w.db.conn.QueryRow(w.db.ctx, `SELECT concat_ws(' ', p.round, p.retry_count, p.announced_round = p.round, l.round = p.round, l.event_type)
		FROM rowrun.plan p LEFT JOIN rowrun.webhook_delivery_log l ON l.plan_id = p.id WHERE p.id = $1`, w.plan).Scan(&state))
	expect := fmt.Sprintf("%d %d f", w.round, w.retries)
	if said := w.announced[w.round]; said != "" {
		var event string
		_, err := fmt.Sscanf(said, "%d %s", new(int), &event)
		require.NoError(w.db.t, err)
		expect = fmt.Sprintf("%d %d t t %s", w.round, w.retries, event)
	}
	require.Equal(w.db.t, expect, state, "%v", w.story)
}
