-- run_log
-- What executors wrote about a run, in order.
-- $1 bigint: run
-- $2 bigint: how many rows at most
-- $3 integer: how many characters of the beginning and of the end of a detail; NULL: all of it
-- Returns: rows by name store.LogEntry
SELECT l.id, l.created_at, l.replica_id, l.type,
    CASE WHEN length(t.detail) > 2 * $3 THEN left(t.detail, $3) ELSE t.detail END AS detail,
    CASE WHEN length(t.detail) > 2 * $3 THEN right(t.detail, $3) END AS end_of_cut
FROM (SELECT * FROM rowrun.task_run_log WHERE task_run_id = $1 ORDER BY id LIMIT $2) l
CROSS JOIN LATERAL (SELECT l.detail::text AS detail OFFSET 0) t
ORDER BY l.id
