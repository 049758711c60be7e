-- overdue_runs
-- Runs that the app took over and that ran out of time or stalled.
-- $1 bigint: the run behind which to look
-- $2 bigint: how many at most
-- Returns: runs, ascending
SELECT r.id FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.status = 'RUNNING' AND r.replica_id IS NULL AND r.id > $1
  AND (r.deadline < clock_timestamp() OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < clock_timestamp())
ORDER BY r.id LIMIT $2
