package rowruntest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrun/rowrun/scheduler/client"
)

// Job is a run that was enqueued, with how its last attempt stands.
type Job struct {
	ID             int64 // of its first run, as Enqueue returns it
	Task           string
	Type           string
	Queue          string
	Input          json.RawMessage // as it was enqueued, without the task's payload
	RunAt          time.Time
	Priority       int32
	IdempotencyKey string // "": it has none
	// Status is one of PENDING, AVAILABLE, RUNNING, DONE, FAILED and CANCELED.
	Status   string
	Attempts int
	// Result is what the last attempt left behind; Code and Detail are why it failed or was canceled.
	Result       json.RawMessage
	Code, Detail string
}

// Want says which jobs are meant. What is left out fits every job.
type Want struct {
	// Task is its name.
	Task string
	// Input is contained in the job's, as PostgreSQL's @> has it: a job may have more keys than that.
	Input any
	// RunAt is within a second of the job's.
	RunAt          time.Time
	Priority       *int32
	IdempotencyKey string
	Status         string
}

// Jobs looks at what was enqueued. Make it with In or InSQL.
type Jobs struct {
	t   testing.TB
	ask func(ctx context.Context, question string, args ...any) (text string, err error)
}

// In looks with pgx: by a transaction at what it has enqueued itself too, by a connection or a pool at what was committed.
func In[R client.Rows](t testing.TB, db client.Pgx[R]) *Jobs {
	return &Jobs{t, func(ctx context.Context, question string, args ...any) (text string, err error) {
		rows, err := db.Query(ctx, question, args...)
		if err != nil {
			return "", err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&text); err != nil {
				return "", err
			}
		}
		return text, rows.Err()
	}}
}

// InSQL is In with database/sql.
func InSQL(t testing.TB, db client.SQL) *Jobs {
	return In(t, overSQL{db})
}

// overSQL has database/sql look like pgx.
type overSQL struct{ db client.SQL }

func (o overSQL) Query(ctx context.Context, question string, args ...any) (rowsOfSQL, error) {
	rows, err := o.db.QueryContext(ctx, question, args...) //nolint:rowserrcheck,sqlclosecheck // by who asks
	return rowsOfSQL{rows}, err
}

type rowsOfSQL struct{ *sql.Rows }

func (r rowsOfSQL) Close() { _ = r.Rows.Close() }

// All jobs that are meant, in the order in which they were enqueued.
func (j *Jobs) All(want Want) []Job {
	j.t.Helper()
	return j.find(want, 0, time.Time{})
}

// RequireEnqueued fails the test unless one job is meant, and no more; it returns that.
func (j *Jobs) RequireEnqueued(want Want) Job {
	j.t.Helper()
	found := j.find(want, 0, time.Time{})
	switch {
	case len(found) == 0:
		j.t.Fatalf("rowruntest: no job was enqueued with %s; there are:%s", want.text(), lines(j.find(Want{}, 0, time.Time{})))
	case len(found) > 1:
		j.t.Fatalf("rowruntest: %d jobs were enqueued with %s:%s", len(found), want.text(), lines(found))
	}
	return found[0]
}

// RequireNotEnqueued fails the test where jobs are meant.
func (j *Jobs) RequireNotEnqueued(want Want) {
	j.t.Helper()
	if found := j.find(want, 0, time.Time{}); len(found) > 0 {
		j.t.Fatalf("rowruntest: there should be no job with %s:%s", want.text(), lines(found))
	}
}

// RequireEnded fails the test unless the job of this id has this status; it returns the job. Where it waits, the test says
// for what.
func (j *Jobs) RequireEnded(id int64, status string) Job {
	j.t.Helper()
	found := j.find(Want{}, id, time.Time{})
	if len(found) == 0 {
		j.t.Fatalf("rowruntest: there is no job %d", id)
	}
	if job := found[0]; job.Status != status {
		const causes = `SELECT coalesce(string_agg(w.cause || ', ' || w.message, '; '), '')
			FROM rowrun.job j, rowrun.waiting(j.last_run_id) w WHERE j.root_id = $1::bigint`
		waits, err := j.ask(j.t.Context(), causes, id)
		if err != nil {
			waits = err.Error()
		}
		if waits != "" {
			waits = "\n\tit waits: " + waits
		}
		j.t.Fatalf("rowruntest: job %d is %s, not %s:%s%s", id, job.Status, status, lines(found), waits)
	}
	return found[0]
}

// Parameters are text, cast here, for drivers of every kind.
const findJobs = `SELECT coalesce(json_agg(json_build_object(
        'ID', r.id, 'Task', k.name, 'Type', r.type, 'Queue', r.queue, 'Input', r.input, 'RunAt', r.run_at, 'Priority', r.priority,
        'IdempotencyKey', coalesce(r.idempotency_key, ''), 'Status', j.status, 'Attempts', j.attempts, 'Result', j.result,
        'Code', coalesce(j.result ->> 'code', ''), 'Detail', coalesce(j.result ->> 'detail', ''))
    ORDER BY CASE WHEN $8::text IS NOT NULL THEN j.finished_at END, r.id), '[]')::text
FROM rowrun.job j JOIN rowrun.task_run r ON r.id = j.root_id JOIN rowrun.task k ON k.id = r.task_id
WHERE ($1::text IS NULL OR r.id = $1::text::bigint)
  AND ($2::text IS NULL OR k.name = $2::text)
  AND r.input @> coalesce($3::text::jsonb, '{}')
  AND ($4::text IS NULL OR abs(extract(epoch FROM r.run_at - $4::text::timestamptz)) <= 1)
  AND ($5::text IS NULL OR r.priority = $5::text::integer)
  AND ($6::text IS NULL OR r.idempotency_key = $6::text)
  AND ($7::text IS NULL OR j.status = $7::text)
  AND ($8::text IS NULL OR j.finished_at >= $8::text::timestamptz)`

// find asks for jobs; id and ended, where given, narrow it further: those that ended since then come in that order.
func (j *Jobs) find(want Want, id int64, ended time.Time) (jobs []Job) {
	j.t.Helper()
	var input, job, priority any
	if want.Input != nil {
		text, err := json.Marshal(want.Input)
		if err != nil {
			j.t.Fatalf("rowruntest: the input that is wanted: %v", err)
		}
		input = string(text)
	}
	if id != 0 {
		job = fmt.Sprint(id)
	}
	if want.Priority != nil {
		priority = fmt.Sprint(*want.Priority)
	}
	text, err := j.ask(j.t.Context(), findJobs, job, orNil(want.Task), input, moment(want.RunAt), priority,
		orNil(want.IdempotencyKey), orNil(want.Status), moment(ended))
	if err == nil {
		err = json.Unmarshal([]byte(text), &jobs)
	}
	if err != nil {
		j.t.Fatalf("rowruntest: look at the jobs: %v", err)
	}
	return jobs
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func moment(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}

// text is what is wanted, for a test's message.
func (w Want) text() string {
	var said []string
	for _, part := range []struct{ name, value string }{
		{"task", w.Task}, {"key", w.IdempotencyKey}, {"status", w.Status},
	} {
		if part.value != "" {
			said = append(said, fmt.Sprintf("%s %q", part.name, part.value))
		}
	}
	if w.Input != nil {
		input, _ := json.Marshal(w.Input)
		said = append(said, "input "+string(input))
	}
	if !w.RunAt.IsZero() {
		said = append(said, "run_at "+w.RunAt.UTC().Format(time.RFC3339Nano))
	}
	if w.Priority != nil {
		said = append(said, fmt.Sprintf("priority %d", *w.Priority))
	}
	if len(said) == 0 {
		return "anything"
	}
	return strings.Join(said, ", ")
}

// shown is how many jobs a message lists.
const shown = 10

// lines lists jobs for a test's message.
func lines(jobs []Job) string {
	if len(jobs) == 0 {
		return " none"
	}
	var out bytes.Buffer
	for i := range jobs[:min(len(jobs), shown)] {
		job := &jobs[i]
		fmt.Fprintf(&out, "\n\tjob %d, task %q, input %s, run_at %s, priority %d", job.ID, job.Task, job.Input, job.RunAt.UTC().Format(time.RFC3339Nano), job.Priority)
		if job.IdempotencyKey != "" {
			fmt.Fprintf(&out, ", key %q", job.IdempotencyKey)
		}
		fmt.Fprintf(&out, ": %s after %d attempt(s)", job.Status, job.Attempts)
		if job.Code != "" {
			fmt.Fprintf(&out, ", %s: %s", job.Code, job.Detail)
		}
	}
	if len(jobs) > shown {
		fmt.Fprintf(&out, "\n\tand %d more", len(jobs)-shown)
	}
	return out.String()
}
