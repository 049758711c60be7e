-- waiting_runs
-- Why runs are not running: a page of them, as all are asked at once.
-- $1 bigint[]: runs
-- Returns: rows by name store.Cause
SELECT run_id, cause, message, detail FROM rowrun.waits_for($1)
