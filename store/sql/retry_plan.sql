-- retry_plan
-- Makes a run for each task of a plan whose newest one FAILED or was CANCELED.
-- $1 bigint: plan
-- Returns: the runs made, ascending
SELECT r FROM rowrun.retry_plan($1) r ORDER BY r
