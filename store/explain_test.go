package store_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// serverLog is what a server wrote.
type serverLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *serverLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// explained is a server that logs the plan of every statement, those inside functions too, as it was executed.
type explained struct {
	log  *serverLog
	conn *pgx.Conn
	n    int
}

// On a full and analyzed table every statement of a replica's round finds its rows by an index, and promoting one run
// with very many blocked ones touches few rows.
func TestEveryStatementOfARoundUsesIndexes(t *testing.T) {
	t.Parallel()
	e := &explained{log: &serverLog{}}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: e.log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	conn := connect(t, url)
	fillForExplain(t, conn, storetest.Count(200_000, 1_000_000), 20_000)
	name := query[string](t, conn, `SELECT current_database()`)
	for _, set := range []string{
		`session_preload_libraries = 'auto_explain'`, `auto_explain.log_min_duration = 0`, `auto_explain.log_analyze = on`,
		`auto_explain.log_timing = off`, `auto_explain.log_nested_statements = on`,
	} {
		if strings.HasPrefix(set, "auto_explain") {
			exec(t, conn, `LOAD 'auto_explain'`)
		}
		exec(t, conn, `ALTER DATABASE `+name+` SET `+set)
	}
	e.conn = connect(t, url)
	s := open(t, url, time.Minute)

	var claims []store.Claim
	work := func(promote store.Promotion) func() {
		return func() {
			pass, err := s.Work(t.Context(), "r", noop(), promote, 10)
			require.NoError(t, err)
			claims = append(claims, pass.Claims...)
		}
	}
	e.check(t, "promote and claim at start", -1, work(store.PromoteSweep))
	for len(claims) < 2 { // the marks of the filling
		work(store.PromoteDue)()
	}
	// The end of one version opens the next, behind it everything else is blocked.
	fresh := func() {
		pass, err := s.WorkPromoted(t.Context(), "r", noop(), 10)
		require.NoError(t, err)
		claims = append(claims, pass.Claims...)
	}
	for _, step := range []func(){work(store.PromoteDue), fresh, work(store.PromoteDue), fresh} {
		c := claims[0]
		claims = claims[1:]
		e.check(t, "end", 50, func() {
			ended, err := s.EndRuns(t.Context(), []store.Ending{{ID: c.ID, Claim: c.Claim, PlanTask: c.TaskID}}, time.Second)
			require.NoError(t, err)
			require.Len(t, ended, 1)
		})
		before := len(claims)
		e.check(t, "promote and claim one", 200, step)
		require.Len(t, claims, before+1)
	}
	e.check(t, "watch", 50, func() {
		_, err := s.Watch(t.Context(), "r", []int64{claims[0].ID})
		require.NoError(t, err)
	})
	e.check(t, "survey", 200, func() {
		seen, err := s.Survey(t.Context(), "r", noop())
		require.NoError(t, err)
		require.True(t, seen.Work, "versions wait for a database")
	})
	e.check(t, "dead replicas", 50, func() {
		_, err := s.DeadReplicas(t.Context(), time.Hour)
		require.NoError(t, err)
		_, err = s.EndDeadReplica(t.Context(), "nobody")
		require.NoError(t, err)
		_, err = s.EndOverdue(t.Context())
		require.NoError(t, err)
	})
	e.check(t, "retention of a task", 5200, func() { // 5,000: the first window of the others
		gone, err := s.RemoveOld(t.Context(), 720*time.Hour)
		require.NoError(t, err)
		require.Equal(t, int64(3), gone.Runs)
	})
}

// fillForExplain makes runs that have ended, and two databases on which a long row of versions waits for its first.
func fillForExplain(t *testing.T, conn *pgx.Conn, ended, blocked int) {
	t.Helper()
	addReplica(t, conn, "r")
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, sequential) VALUES (1, 'NOOP', false)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, finished_at)
		SELECT 1, n, CASE n % 10 WHEN 0 THEN 'FAILED' ELSE 'DONE' END, 0, 'x', 'NOOP', 'default', false, now() FROM generate_series(1, $1::int) n`, ended)
	exec(t, conn, `INSERT INTO rowrun.task (id, type, sequential, retention) VALUES (500000, 'NOOP', false, '1 hour')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, sequential, own_retention, finished_at)
		SELECT 500000, n, 'DONE', 0, 'x', 'NOOP', 'default', false, true, now() - n * interval '50 min' FROM generate_series(1, 4) n`)
	exec(t, conn, `COMMIT`)
	exec(t, conn, `INSERT INTO rowrun.plan (id, parallel_limit) VALUES (1, 10)`)
	exec(t, conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id, version)
		SELECT 1 + n, 1, 'NOOP', 'db' || n % 2, n::text FROM generate_series(1, $1::int) n`, blocked)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task WHERE plan_id = 1`)
	for query[bool](t, conn, `SELECT more FROM rowrun.promote_runs()`) {
		continue
	}
	exec(t, conn, `VACUUM ANALYZE rowrun.task, rowrun.task_run, rowrun.gate_mark`)
}

var (
	rowsOf  = regexp.MustCompile(`on task_run\b.*rows=(\d+) loops=(\d+)\)`)
	removed = regexp.MustCompile(`Rows Removed by (?:Filter|Index Recheck|Join Filter): (\d+)`)
)

// check runs something and reads the plans that the server logged meanwhile. most bounds the rows of task_run that
// they visited; negative: no bound.
func (e *explained) check(t *testing.T, what string, most int, do func()) {
	t.Helper()
	before := len(e.log.take())
	do()
	e.n++
	mark := fmt.Sprintf("end of part %d", e.n)
	exec(t, e.conn, `SELECT '`+mark+`'`)
	var text string
	require.Eventually(t, func() bool {
		text = e.log.take()[before:]
		return strings.Contains(text, mark)
	}, time.Minute, 5*time.Millisecond)
	require.Contains(t, text, "on task_run", "no plan was logged: nothing is tested")
	visited := 0
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "never executed") { // a condition that wasn't asked
			require.NotRegexp(t, `Seq Scan on task_run\b`, line, what)
		}
		if m := rowsOf.FindStringSubmatch(line); m != nil {
			visited += number(m[1]) * number(m[2])
		} else if m := removed.FindStringSubmatch(line); m != nil {
			visited += number(m[1])
		}
	}
	t.Logf("%s: %d rows of task_run visited", what, visited)
	if most >= 0 {
		require.LessOrEqual(t, visited, most, "%s\n%s", what, text)
	}
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
