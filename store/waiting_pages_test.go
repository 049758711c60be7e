package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// waitingShapes are the ways in which many runs of one database come to wait; each stands on a database of its name.
// mixed is one of each of the others by turns.
func waitingShapes() []string {
	return []string{"versions", "sequential", "plain", "limit", "dependencies", "failures", "mixed"}
}

// fillWaiting makes PENDING runs number from to number to of each shape, and what they wait for where they begin.
func fillWaiting(t testing.TB, conn *pgx.Conn, shape string, from, to int) {
	t.Helper()
	exec(t, conn, `BEGIN; SET LOCAL session_replication_role = replica`)
	if from == 1 {
		exec(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency)
			VALUES ('r', clock_timestamp(), '1 day', '{NOOP}', 20) ON CONFLICT DO NOTHING`)
		exec(t, conn, `INSERT INTO rowrun.plan (name, parallel_limit, on_failure) VALUES ($1 || ' limit', 5, 'CONTINUE'),
			($1 || ' dependencies', NULL, 'CONTINUE'), ($1 || ' failures', NULL, 'STOP_DATABASE')`, shape)
		// What they wait for: a version, and behind "plain" a sequential run that is PENDING itself, as its first.
		exec(t, conn, `INSERT INTO rowrun.task (name, plan_id, type, database_id, version, sequential, priority, outcome)
			SELECT $1 || ' first ' || n, CASE s WHEN 'limit' THEN p.id END, 'NOOP', $1, CASE s WHEN 'versions' THEN '1' END, false, 10, NULL
			FROM (VALUES ('versions', 1), ('limit', 5)) a(s, runs) CROSS JOIN LATERAL generate_series(1, runs) n
			LEFT JOIN rowrun.plan p ON p.name = $1 || ' limit' WHERE $1 = a.s OR $1 = 'mixed' AND a.s = 'limit'
			UNION ALL SELECT 'sequential first', NULL, 'NOOP', $1, NULL, true, 10, NULL WHERE $1 = 'sequential'
			UNION ALL SELECT 'failed first', p.id, 'NOOP', $1, '1', false, 0, 'FAILED' FROM rowrun.plan p WHERE $1 IN ('failures', 'mixed') AND p.name = $1 || ' failures'`, shape)
		runOf(t, conn, `k.name LIKE '% first%' AND k.outcome IS NULL`, shape, "RUNNING")
		exec(t, conn, `INSERT INTO rowrun.task (name, plan_id, type, database_id, sequential, priority)
			SELECT $1 || ' ahead', p.id, 'NOOP', $1, false, 0 FROM rowrun.plan p WHERE $1 IN ('dependencies', 'mixed') AND p.name = $1 || ' dependencies'
			UNION ALL SELECT $1 || ' alone ahead', NULL, 'NOOP', $1, true, 10 WHERE $1 IN ('plain', 'mixed')`, shape)
		runOf(t, conn, `k.name LIKE '% ahead'`, shape, "PENDING")
	}
	exec(t, conn, `INSERT INTO rowrun.task (name, plan_id, type, database_id, version, sequential)
		SELECT $1 || ' ' || n, p.id, 'NOOP', $1, CASE WHEN s IN ('versions', 'failures') THEN 1 + n || '' END, s = 'sequential'
		FROM (SELECT n, CASE $1 WHEN 'mixed' THEN (ARRAY['versions', 'sequential', 'plain', 'limit', 'dependencies', 'failures'])[1 + n % 6] ELSE $1 END AS s
		      FROM generate_series($2::int, $3) n) w
		LEFT JOIN rowrun.plan p ON p.name = $1 || ' ' || s`, shape, from, to)
	exec(t, conn, `INSERT INTO rowrun.task_dependency (task_id, depends_on_id)
		SELECT k.id, a.id FROM rowrun.task k JOIN rowrun.plan p ON p.id = k.plan_id AND p.name = $1 || ' dependencies'
		JOIN rowrun.task a ON a.name = $1 || ' ahead' WHERE k.id <> a.id ON CONFLICT DO NOTHING`, shape)
	runOf(t, conn, `k.outcome IS NULL`, shape, "PENDING")
	exec(t, conn, `COMMIT`)
}

// runOf inserts runs for the tasks of a shape that have none, as they stand once a pass has judged them.
func runOf(t testing.TB, conn *pgx.Conn, which, shape, status string) {
	t.Helper()
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id, root_id, status, priority, creator, type, queue, database_id, version, version_key, sequential,
			plan_id, cause, available_at, started_at, replica_id, run_at, created_at)
		SELECT k.id, k.id, $2, k.priority, 'x', k.type, k.queue, k.database_id, k.version, k.version_key, k.sequential, k.plan_id,
			CASE WHEN w.at IS NULL THEN CASE split_part(p.name, ' ', 2) WHEN 'limit' THEN 'PLAN' WHEN 'dependencies' THEN 'DEPENDENCY'
				WHEN 'failures' THEN 'PLAN_FAILED' ELSE 'DATABASE' END END,
			w.at, w.at, CASE WHEN w.at IS NOT NULL THEN 'r' END, now() - interval '1 hour', now() - interval '1 hour'
		FROM rowrun.task k LEFT JOIN rowrun.plan p ON p.id = k.plan_id
		CROSS JOIN (SELECT CASE $2 WHEN 'RUNNING' THEN now() END AS at) w
		WHERE k.database_id = $1 AND `+which+` AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = k.id) ORDER BY k.id`, shape, status)
}

var touched = regexp.MustCompile(`Buffers: shared ([^\n]*)`)

// pagesOf is how many pages a statement touches, those of the functions that it calls too: the fewest of three rounds, as a
// session reads the catalog now and then.
func pagesOf(t testing.TB, conn *pgx.Conn, statement string) int {
	t.Helper()
	return min(pagesOfOne(t, conn, statement), pagesOfOne(t, conn, statement), pagesOfOne(t, conn, statement))
}

// pagesOfOne is pagesOf in a single round, for a statement that can't be repeated.
func pagesOfOne(t testing.TB, conn *pgx.Conn, statement string) (pages int) {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) "+statement)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	m := touched.FindStringSubmatch(strings.Join(lines, "\n"))
	require.NotNil(t, m, "%s", lines)
	for _, n := range hitRead.FindAllStringSubmatch(m[1], -1) {
		pages += number(n[1])
	}
	return pages
}

// lastRuns are the last of a shape: six, so that one of each kind is among those of the mixed shape.
const lastRuns = `SELECT id FROM rowrun.task_run WHERE database_id = $1 AND status = 'PENDING' ORDER BY id DESC LIMIT 6`

// What one run waits for is told from as many pages beside 20,000 runs that wait on its database as beside 1,000, by a
// session, too, that first asked beside ten; and what all wait for from as many pages more as there are runs.
func TestWhatARunWaitsForIsToldFromFewPages(t *testing.T) {
	t.Parallel()
	for _, shape := range waitingShapes() {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, storetest.New(t))
			var pages []int // beside 10, 1,000 and 20,000
			var whole []int
			from := 1
			for _, n := range []int{10, 1000, 20_000} {
				fillWaiting(t, conn, shape, from, n)
				from = n + 1
				most := 0
				for _, run := range ids(t, conn, lastRuns, shape) {
					require.NotZero(t, query[int](t, conn, `SELECT count(*) FROM rowrun.waiting($1)`, run), "run %d waits for nothing", run)
					most = max(most, pagesOf(t, conn, fmt.Sprintf("SELECT * FROM rowrun.waiting(%d)", run)))
				}
				pages = append(pages, most)
				whole = append(whole, pagesOf(t, conn, "SELECT * FROM rowrun.waiting()"))
			}
			t.Logf("pages beside 10, 1,000 and 20,000 runs: %d for one, %d for all", pages, whole)
			require.LessOrEqual(t, pages[2], 2*pages[1]+10, "what is read for one run grows with those beside it")
			require.LessOrEqual(t, whole[2], 30*whole[1], "what is read for all grows faster than they are")
			require.Equal(t, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run r CROSS JOIN LATERAL rowrun.waiting(r.id) WHERE r.id % 100 = 0`),
				query[int](t, conn, `SELECT count(*) FROM rowrun.waiting() w WHERE w.run_id % 100 = 0`), "all together are told the same")
		})
	}
}

// BenchmarkWaiting asks what runs wait for beside 100,000 on their database: for one, and for all.
func BenchmarkWaiting(b *testing.B) {
	for _, shape := range waitingShapes() {
		conn := connect(b, storetest.New(b))
		fillWaiting(b, conn, shape, 1, 100_000)
		exec(b, conn, `VACUUM ANALYZE`)
		rows, err := conn.Query(b.Context(), lastRuns, shape)
		require.NoError(b, err)
		runs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		require.NoError(b, err)
		b.Run(shape+"/one", func(b *testing.B) {
			for n := range b.N {
				require.NotZero(b, query[int](b, conn, `SELECT count(*) FROM rowrun.waiting($1)`, runs[n%len(runs)]))
			}
		})
		b.Run(shape+"/all", func(b *testing.B) {
			for range b.N {
				require.Positive(b, query[int](b, conn, `SELECT count(*) FROM rowrun.waiting()`))
			}
		})
	}
}
