-- board_log
-- What executors wrote about a run behind an entry.
-- $1 bigint: run
-- $2 bigint: entry; 0: from the first
-- $3 bigint: how many at most
-- Returns: store.BoardLogEntry, the oldest first
SELECT l.id, l.created_at, l.replica_id, l.type, l.detail FROM rowrun.task_run_log l
WHERE l.task_run_id = $1 AND l.id > $2 ORDER BY l.id LIMIT $3
