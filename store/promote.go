package store

import (
	"strconv"
	"strings"
)

// The whole pass is rowrun.promote_runs. What most wake-ups are about is a run without plan and database, which only
// time and a pause may hold; for these the pass is spelled out here as one statement, which takes half the time of a
// call, and the function is called where a mark, a due run with gates, or the sweep asks for it.
//
// available_at is a time before the statement's snapshot, so that whatever gate was closed by then was seen closed.
//
// Each pass begins with a lock on the replica's own row, so that whoever declares it dead either waits for what it
// claims or comes first.
//
// The runs are those behind the run $2 in the order of searches, or all.
const (
	promoteFree       = promoteFrom + `ARRAY(` + readyRuns + `true` + nextReady + `)` + andDue + `true` + nextDue + promoteThem
	promoteFreeBehind = promoteFrom + `ARRAY(` + readyRuns + `r.priority > b.priority` + nextReady + `)
               || ARRAY(` + readyRuns + `r.priority = b.priority AND (r.run_at, r.id) > (b.run_at, b.id)` + nextReady + `)
               || ARRAY(` + readyRuns + `r.priority < b.priority` + nextReady + `)` +
		andDue + `r.judge_at >= b.run_at` + nextDue + placeOf + `$2` + orFirst + `, ` + promoteThem

	readyRuns = `SELECT r.id FROM rowrun.task_run r
                 WHERE r.status = 'PENDING' AND r.hold = 'READY' AND r.plan_id IS NULL AND `
	nextReady = `
                 ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED`

	promoteFrom = `-- promote_free_runs
WITH me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE
), now AS MATERIALIZED (
    SELECT statement_timestamp() AS t, (SELECT count(*) FROM me) AS alive, ` + readReady + ` AS read
), picked AS MATERIALIZED (
    SELECT s.ready || s.due AS ids, s.ready[cardinality(s.ready)] AS last, s.took, s.read
    FROM (SELECT `
	andDue = ` AS ready,
                 ARRAY(SELECT r.id FROM rowrun.task_run r
                       WHERE r.judge_at <= now.t AND r.plan_id IS NULL AND r.database_id IS NULL AND r.status = 'PENDING' AND `
	nextDue = `
                       ORDER BY r.judge_at LIMIT 1000 FOR NO KEY UPDATE SKIP LOCKED) AS due,
                 extract(epoch FROM clock_timestamp() - now.t)::float8 AS took,
                 coalesce(` + readReady + ` - now.read, 0) AS read
          FROM `
	promoteThem = `now OFFSET 0) s
), promoted AS (
    UPDATE rowrun.task_run r
    SET status = 'AVAILABLE', prev_status = 'PENDING', available_at = greatest(now.t, r.run_at, r.created_at),
        updated_at = greatest(now.t, r.updated_at + interval '1 us'), hold = NULL, judge_at = NULL
    FROM picked, rowrun.task k, now
    WHERE r.id = ANY (picked.ids) AND k.id = r.task_id AND rowrun.own_cause(k, r.missed_at, now.t) IS NULL
    RETURNING r.id, rowrun.transition(r) AS item
), said AS (
    SELECT count(*) AS n, rowrun.announce(array_agg(p.item)), rowrun.note_promoted(array_agg(p.id)) FROM promoted p
)
SELECT now.alive > 0, pg_current_snapshot()::text, cardinality(picked.ids), coalesce(picked.last, 0), picked.took, picked.read, said.n,
       (extract(epoch FROM least(
           (SELECT r.judge_at FROM rowrun.task_run r
            WHERE r.judge_at > now.t AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
           (SELECT r.judge_at FROM rowrun.task_run r
            WHERE r.judge_at > now.t AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1)) - now.t) * 1000)::float8
FROM picked, now, said`
)

// $1: a sweep; $2: runs without gates too; $3: how many runs and marks at once.
const promoteRuns = `-- promote_runs
SELECT p.promoted, p.busy, p.more, p.next_ms
FROM (SELECT WHERE $1 OR EXISTS (SELECT FROM rowrun.gate_mark)
          OR EXISTS (SELECT FROM rowrun.task_run r
                     WHERE r.judge_at <= clock_timestamp() AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL))) asked
CROSS JOIN LATERAL rowrun.promote_runs($1, $2, $3) p`

// limited is a statement of promoteFree's for fewer runs. The limit stands in its text, because the planner takes a
// parameter there for a tenth of the table.
func limited(q string, most int) string {
	if most >= fullBatch {
		return q
	}
	return strings.ReplaceAll(q, "LIMIT 1000 ", "LIMIT "+strconv.Itoa(most)+" ")
}
