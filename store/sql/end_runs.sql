-- end_runs
-- Ends RUNNING runs, whatever they are.
-- $1 bigint[]: runs
-- $2 uuid[]: their claims; NULL asks for none
-- $3 text[]: DONE or FAILED
-- $4 jsonb[]: results, objects
-- $5 text[]: what may follow a failure: NONE, FAILURE or STALE
-- $6 bigint[]: the tasks of those that belong to a plan
-- Returns: run, its status, its successor (NULL: none), when, and the transaction; no row for one that had ended or is somebody else's
SELECT run_id, status, retry_run_id, finished_at, pg_current_xact_id_if_assigned()::text::bigint FROM rowrun.end_runs($1, $2, $3, $4, $5, $6)
