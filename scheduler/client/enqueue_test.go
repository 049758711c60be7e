package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
)

// seen is a run by its id, in words.
const seen = `SELECT concat_ws(' | ', k.name, r.input, r.run_at AT TIME ZONE 'UTC', r.priority, r.idempotency_key)
	FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.id = $1`

func TestJobArrivesAsItIsByEachWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2199, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 2*60*60))
	for name, by := range w.ways() {
		job := client.Job{
			Task: "mail", Input: map[string]any{"to": `O'Neil \ "x" 日本 ?$1`}, RunAt: at, Priority: new(int32(-7)), IdempotencyKey: "key of " + name,
		}
		id, err := by.enqueue(job)
		require.NoError(t, err, name)
		again, err := by.enqueue(job)
		require.NoError(t, err, name)
		require.Equal(t, id, again, name)
		ids, err := by.many(client.Job{Task: "print"}, job, client.Job{Task: "mail", Priority: new(int32(math.MaxInt32))}, client.Job{Task: "print"})
		require.NoError(t, err, name)
		require.Len(t, ids, 4, name)
		require.Equal(t, id, ids[1], name)
		require.IsIncreasing(t, []int64{ids[0], ids[2], ids[3]}, name)
		if name == "pgx.Tx" || name == "sql.Tx" {
			continue // which nobody else sees
		}
		require.Equal(t, `mail | {"to": "O'Neil \\ \"x\" 日本 ?$1"} | 2199-05-06 05:08:09.123456 | -7 | key of `+name, w.ask(seen, id), name)
		require.Contains(t, w.ask(seen, ids[2]), fmt.Sprintf("| %d", math.MaxInt32), name)
		require.Regexp(t, `^print \| {} \| .* \| 3$`, w.ask(seen, ids[3]), name)
		require.Equal(t, "true", w.ask(`SELECT bool_and(run_at = created_at) FROM rowrun.task_run WHERE id = ANY($1)`, []int64{ids[0], ids[2]}))
	}
}

func TestSettingsOfTheSessionMoveNoTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.program.RuntimeParams["timezone"] = "Asia/Tokyo"
	w.program.RuntimeParams["datestyle"] = "SQL, DMY"
	at := time.Date(2199, 2, 1, 23, 0, 0, 0, time.UTC)
	job := client.Job{Task: "mail", RunAt: at}
	by := byPgx(w, w.connect(w.program))
	id, err := by.enqueue(job)
	require.NoError(t, err)
	ids, err := by.many(job)
	require.NoError(t, err)
	for _, id := range append(ids, id) {
		require.Equal(t, "mail | {} | 2199-02-01 23:00:00 | 0", w.ask(seen, id))
	}
}

func TestWhatIsRolledBackWasNeverInserted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn := w.connect(w.program)
	mistake := errors.New("a mistake")
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		_, err := client.Enqueue(t.Context(), tx, client.Job{Task: "mail"})
		require.NoError(t, err)
		_, err = client.EnqueueMany(t.Context(), tx, []client.Job{{Task: "mail"}, {Task: "print"}})
		require.NoError(t, err)
		return mistake
	})
	require.ErrorIs(t, err, mistake)
	begun, err := w.sql().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = client.EnqueueSQL(t.Context(), begun, client.Job{Task: "mail"})
	require.NoError(t, err)
	require.NoError(t, begun.Rollback())
	require.Equal(t, "0", w.ask(`SELECT count(*) FROM rowrun.task_run`))
}

func TestIDsComeInTheOrderOfTheJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	by := byPgx(w, w.connect(w.program))
	print := w.ask(`SELECT id FROM rowrun.task WHERE name = 'print'`)
	existing, err := by.enqueue(client.Job{Task: "mail", Input: map[string]int{"n": 4}, IdempotencyKey: "key 4"})
	require.NoError(t, err)
	var jobs []client.Job
	for n := range 500 {
		job := client.Job{Task: []string{"mail", "print", print}[n%3], Input: map[string]int{"n": n}}
		if n%4 == 0 {
			job.Task, job.IdempotencyKey = "mail", fmt.Sprintf("key %d", n)
		}
		jobs = append(jobs, job)
	}
	jobs = append(jobs, jobs[8], jobs[4])
	ids, err := by.many(jobs...)
	require.NoError(t, err)
	require.Equal(t, ids[8], ids[500])
	require.Equal(t, []int64{existing, existing}, []int64{ids[4], ids[501]})
	require.Equal(t, "500", w.ask(`SELECT count(*) FROM rowrun.task_run`))
	require.Equal(t, "true", w.ask(`SELECT bool_and((r.input ->> 'n')::bigint = g.n - 1)
		FROM unnest($1::bigint[]) WITH ORDINALITY AS g(id, n) LEFT JOIN rowrun.task_run r ON r.id = g.id WHERE g.n <= 500`, ids))

	none, err := by.many()
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestKeyGivesTheRunWhateverBecameOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	by := byPgx(w, w.connect(w.program))
	job := client.Job{Task: "mail", Input: map[string]int{"n": 1}, IdempotencyKey: "order 17"}
	id, err := by.enqueue(job)
	require.NoError(t, err)
	w.ask(`SELECT rowrun.cancel_run($1, 'they called')`, id)
	job.Input = map[string]int{"n": 2}
	ids, err := by.many(job, client.Job{Task: "print", IdempotencyKey: "order 17"}, job)
	require.NoError(t, err)
	require.Equal(t, []int64{id, id}, []int64{ids[0], ids[2]})
	require.NotEqual(t, id, ids[1], "keys are per task")
	require.Equal(t, `{"n": 1} CANCELED`, w.ask(`SELECT concat_ws(' ', input, status) FROM rowrun.task_run WHERE id = $1`, id))
}

// A key that another transaction has inserted, and not committed yet, is waited for: neither a second run nor an error.
func TestKeyThatIsBeingInsertedIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := client.Job{Task: "mail", IdempotencyKey: "order 17"}
	first, err := w.connect(w.program).Begin(t.Context())
	require.NoError(t, err)
	id, err := client.Enqueue(t.Context(), first, job)
	require.NoError(t, err)
	type answer struct {
		ids []int64
		err error
	}
	second, came := w.connect(w.program), make(chan answer, 1)
	go func() {
		ids, err := client.EnqueueMany(t.Context(), second, []client.Job{{Task: "mail"}, job})
		came <- answer{ids, err}
	}()
	tick, deadline := time.NewTicker(10*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for w.ask(`SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1`, second.PgConn().PID()) != "1" {
		select {
		case <-tick.C:
		case <-deadline:
			require.Fail(t, "it doesn't wait")
		}
	}
	require.NoError(t, first.Commit(t.Context()))
	got := <-came
	require.NoError(t, got.err)
	require.Equal(t, id, got.ids[1])
	require.Equal(t, "2", w.ask(`SELECT count(*) FROM rowrun.task_run`))
}

func TestNameThatLeadsNowhereInsertsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`SELECT rowrun.create_plan('a plan', '[{"name": "of a plan", "type": "MAIL"}]')`)
	for name, by := range w.ways() {
		if name == "pgx.Tx" || name == "sql.Tx" {
			continue
		}
		for _, task := range []string{"Mail", "of a plan", "999999", "12345678901234567890"} {
			_, err := by.enqueue(client.Job{Task: task})
			require.ErrorIs(t, err, client.ErrNoTask, name)
			require.ErrorContains(t, err, `"`+task+`"; define it: SELECT rowrun.define_task(`)
			require.ErrorContains(t, err, "P0002")
			_, err = by.many(client.Job{Task: "mail"}, client.Job{Task: "print", IdempotencyKey: "a key"}, client.Job{Task: task})
			require.ErrorIs(t, err, client.ErrNoTask, name)
			require.ErrorContains(t, err, `"`+task+`"; define it: SELECT rowrun.define_task(`)
		}
	}
	require.Equal(t, "0", w.ask(`SELECT count(*) FROM rowrun.task_run`))
}

func TestWhatCanNotBeAJobIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	by := byPgx(w, w.connect(w.program))
	for says, job := range map[string]client.Job{
		"a job needs a Task":                                   {},
		`the input of a run of "mail" is a JSON object`:        {Task: "mail", Input: []int{1}},
		`is a JSON object, such as a struct or a map makes`:    {Task: "mail", Input: json.RawMessage(`"text"`)},
		`the input of a run of "mail": json: unsupported type`: {Task: "mail", Input: make(chan int)},
	} {
		_, err := by.enqueue(job)
		require.ErrorContains(t, err, says)
		_, err = by.many(client.Job{Task: "mail"}, job)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "client: job 1: ")
	}
	var nothing map[string]string
	_, err := by.enqueue(client.Job{Task: "mail", Input: nothing})
	require.NoError(t, err, "a nil map is an empty input")

	// What the database refuses comes with its SQLSTATE.
	w.exec(`SELECT rowrun.define_task('report', 'SQL', '{"sql": "SELECT 1"}', database_id => 'shop')`)
	_, err = by.enqueue(client.Job{Task: "report", Input: map[string]string{"sql": "DROP TABLE customer"}})
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "RR003", refused.Code)
	_, err = by.many(client.Job{Task: "report", Input: map[string]string{"sql": "DROP TABLE customer"}})
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "RR003", refused.Code)
}

// encoding/json makes U+FFFD of what is no UTF-8: two keys were one, and its run was inserted though an error came back.
func TestTextThatNoDatabaseHoldsInsertsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`SELECT rowrun.define_task(U&'caf\FFFD', 'MAIL')`)
	by := byPgx(w, w.connect(w.program))
	for says, job := range map[string]client.Job{
		`the IdempotencyKey "order \xe9" is not UTF-8 without NUL`:   {Task: "mail", IdempotencyKey: "order \xe9"},
		`the IdempotencyKey "order \x00" is not UTF-8 without NUL`:   {Task: "mail", IdempotencyKey: "order \x00"},
		`the IdempotencyKey "\xed\xa0\x80" is not UTF-8 without NUL`: {Task: "mail", IdempotencyKey: "\xed\xa0\x80"},
		`the Task "caf\xe9" is not UTF-8 without NUL`:                {Task: "caf\xe9"},
		`the Task "mail\x00" is not UTF-8 without NUL`:               {Task: "mail\x00"},
		"SQLSTATE 22P05": {Task: "mail", Input: json.RawMessage(`{"to": "\u0000"}`)},
		"SQLSTATE 22021": {Task: "mail", Input: json.RawMessage("{\"to\": \"\xe9\"}")},
	} {
		_, err := by.enqueue(job)
		require.ErrorContains(t, err, says)
		_, err = by.many(client.Job{Task: "print"}, job)
		require.ErrorContains(t, err, says)
	}
	require.Equal(t, "0", w.ask(`SELECT count(*) FROM rowrun.task_run`))
	_, err := by.many(client.Job{Task: "mail", IdempotencyKey: "order \uFFFD"})
	require.NoError(t, err, "that character itself is text")
}
