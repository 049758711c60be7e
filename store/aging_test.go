package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// waited has runs be due, and their priority grow, as much earlier.
func waited(t *testing.T, conn *pgx.Conn, ago time.Duration, runs ...int64) {
	t.Helper()
	exec(t, conn, `SET session_replication_role = replica`)
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = run_at - make_interval(secs => $2), created_at = created_at - make_interval(secs => $2),
		age_at = age_at - make_interval(secs => $2) WHERE id = ANY ($1)`, runs, ago.Seconds())
	exec(t, conn, `SET session_replication_role = origin`)
}

func raise(t *testing.T, s *store.Store) (all int) {
	t.Helper()
	for {
		raised, _, err := s.AgeRuns(t.Context(), 100)
		require.NoError(t, err)
		if all += raised; raised < 100 {
			return all
		}
	}
}

// A run of priority p whose task has an aging of i starts before every run of priority q, without aging, that is due later than
// (q - p) times i after it, once a sweep has come.
func TestPrioritiesGrowWhileRunsWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waited time.Duration
		first  bool
	}{
		"not long enough":     {29 * time.Second, false},
		"longer by a second":  {31 * time.Second, true},
		"longer by several":   {95 * time.Second, true},
		"no interval at all":  {time.Second, false},
		"almost one too few ": {20*time.Second + 500*time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn, s := connect(t, url), open(t, url, time.Minute)
			addReplica(t, conn, "r")
			aging := query[int64](t, conn, `INSERT INTO rowrun.task (type, priority, aging) VALUES ('NOOP', 2, '10 s') RETURNING id`)
			plain := query[int64](t, conn, `INSERT INTO rowrun.task (type, priority) VALUES ('NOOP', 5) RETURNING id`)
			low := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, aging)
			waited(t, conn, c.waited, low)
			raise(t, s)
			high := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, plain)
			require.Equal(t, 2+int(c.waited/(10*time.Second)), query[int](t, conn, `SELECT priority FROM rowrun.task_run WHERE id = $1`, low))
			pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 1})
			require.NoError(t, err)
			require.Len(t, pass.Claims, 1)
			if c.first {
				require.Equal(t, low, pass.Claims[0].ID)
			} else {
				require.Equal(t, high, pass.Claims[0].ID)
			}
		})
	}
}

func TestAgingRaisesWhatWaitsAndNothingElse(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, aging) VALUES ('NOOP', '1 min') RETURNING id`)
	plain := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	insert := func(task int64, rest string) int64 {
		return query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + `+rest+`) RETURNING id`, task)
	}
	priority := func(id int64) int {
		return query[int](t, conn, `SELECT priority FROM rowrun.task_run WHERE id = $1`, id)
	}
	old, other, later := insert(task, `interval '-1 year'`), insert(plain, `interval '0'`), insert(task, `interval '90 s'`)
	require.Zero(t, raise(t, s), "waiting begins with the INSERT at the earliest")
	waited(t, conn, 150*time.Second, old, other, later)
	require.Equal(t, 2, raise(t, s))
	require.Equal(t, []int{2, 0, 1}, []int{priority(old), priority(other), priority(later)}, "one was due only after 90 s")
	require.Zero(t, raise(t, s))
	seen, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
	require.False(t, seen.Aging)

	exec(t, conn, `UPDATE rowrun.task_run SET priority = 10 WHERE id = $1`, old) // a person's word counts from then on
	waited(t, conn, time.Minute, old)
	seen, err = s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
	require.True(t, seen.Aging)
	require.Equal(t, 1, raise(t, s))
	require.Equal(t, 11, priority(old))

	exec(t, conn, `UPDATE rowrun.task_run SET priority = 2147483646 WHERE id = $1`, old)
	waited(t, conn, 10*time.Minute, old)
	require.Equal(t, 1, raise(t, s))
	require.Equal(t, 2147483647, priority(old))
	waited(t, conn, 10*time.Minute, old)
	require.Zero(t, raise(t, s))

	exec(t, conn, `UPDATE rowrun.task SET aging = NULL WHERE id = $1`, task)
	waited(t, conn, 10*time.Minute, later)
	require.Equal(t, 1, raise(t, s), "it is looked at once more")
	require.Equal(t, 1, priority(later))
	require.Zero(t, raise(t, s))

	exec(t, conn, `UPDATE rowrun.task SET aging = '1 min' WHERE id = $1`, task)
	put := insert(task, `interval '1 hour'`)
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = run_at + interval '1 hour' WHERE id = $1`, put)
	waited(t, conn, time.Hour+30*time.Minute, put)
	require.Zero(t, raise(t, s), "it was put off")
	require.True(t, query[bool](t, conn, `SELECT age_at = run_at + interval '1 min' FROM rowrun.task_run WHERE id = $1`, put))
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() + interval '1 hour' WHERE id = $1`, insert(plain, `interval '2 hours'`))
	require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE age_at > now()`), "of a task without aging none")
	for _, wrong := range []string{"0.5 s", "2 years", "-1 s"} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, aging) VALUES ('NOOP', $1::text::interval)`, wrong)
		require.ErrorContains(t, err, "aging of a task is 1 s to 1 year")
	}
}

// A run that somebody holds is raised later, and keeps no other one waiting.
func TestAgingPassesByWhatSomebodyHolds(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s, user := connect(t, url), open(t, url, time.Minute), connect(t, url)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, aging) VALUES ('NOOP', '1 min') RETURNING id`)
	ids := query[[]int64](t, conn, `WITH r AS (INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 3) RETURNING id) SELECT array_agg(id) FROM r`, task)
	waited(t, conn, 90*time.Second, ids...)
	exec(t, user, `BEGIN`)
	exec(t, user, `SELECT FROM rowrun.task_run WHERE id = $1 FOR UPDATE`, ids[0])
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	raised, _, err := s.AgeRuns(ctx, 100)
	require.NoError(t, err)
	require.Equal(t, 2, raised)
	exec(t, user, `ROLLBACK`)
	require.Equal(t, 1, raise(t, s))
	require.Equal(t, 3, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE priority = 1`))
}

// What holds a run stays; its place in the order is another one.
func TestAgingChangesTheOrderOfPromotion(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (parallel_limit) VALUES (1) RETURNING id`)
	run := func(rest, values string) int64 {
		task := query[int64](t, conn, `INSERT INTO rowrun.task (type, `+rest+`) VALUES ('NOOP', `+values+`) RETURNING id`)
		return query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	}
	work := func() []store.Claim {
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
		require.NoError(t, err)
		return pass.Claims
	}
	end := func(c store.Claim) {
		_, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: c.ID, Claim: c.Claim, PlanTask: c.TaskID}}, time.Second)
		require.NoError(t, err)
	}
	of := func(id int64) string {
		return query[string](t, conn, `SELECT status || coalesce(' ' || cause, '') FROM rowrun.task_run WHERE id = $1`, id)
	}
	plans := `plan_id, priority, aging`
	begun := run(plans, query[string](t, conn, `SELECT $1::bigint || ', 9, NULL'`, plan))
	low := run(plans, query[string](t, conn, `SELECT $1::bigint || ', 0, ''1 min'''`, plan))
	high := run(plans, query[string](t, conn, `SELECT $1::bigint || ', 3, NULL'`, plan))
	// A sequential run that comes first keeps another out.
	held := run(`database_id, priority`, `'orders', 9`)
	alone := run(`database_id, sequential, priority`, `'orders', true, 3`)
	beside := run(`database_id, priority, aging`, `'orders', 0, '1 min'`)
	claims := work()
	require.Len(t, claims, 2)
	require.ElementsMatch(t, []int64{begun, held}, []int64{claims[0].ID, claims[1].ID})
	require.Equal(t, []string{"PENDING PLAN", "PENDING PLAN", "PENDING DATABASE", "PENDING DATABASE"}, []string{of(low), of(high), of(alone), of(beside)})

	waited(t, conn, 5*time.Minute, low, beside)
	raised, opened, err := s.AgeRuns(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, 2, raised)
	require.True(t, opened)
	require.Equal(t, []string{"PENDING PLAN", "PENDING DATABASE"}, []string{of(low), of(beside)})
	claims2 := work()
	require.Len(t, claims2, 1, "it comes before the sequential one now, and beside what is no such")
	require.Equal(t, beside, claims2[0].ID)
	for _, c := range claims {
		if c.ID == begun {
			end(c)
		}
	}
	claims3 := work()
	require.Len(t, claims3, 1)
	require.Equal(t, low, claims3[0].ID)
}
