-- retry_run
-- Makes a successor of a FAILED or CANCELED run.
-- $1 bigint: run
-- Returns: the successor, also where it was there before
SELECT rowrun.retry_run($1)
