-- count_purge
-- Counts what purge_type would cancel.
-- $1 text: type
-- $2 float8: age in seconds, since the insert
-- Returns: how many runs
SELECT count(*) FROM rowrun.task_run
WHERE type = $1 AND status IN ('PENDING', 'AVAILABLE') AND created_at <= clock_timestamp() - make_interval(secs => $2)
