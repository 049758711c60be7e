-- run_log
-- What executors wrote about a run, in order.
-- $1 bigint: run
-- $2 bigint: how many rows at most
-- Returns: rows by name store.LogEntry
SELECT id, created_at, replica_id, type, detail FROM rowrun.task_run_log WHERE task_run_id = $1 ORDER BY id LIMIT $2
