-- waiting_runs
-- Why runs are not running.
-- $1 bigint[]: runs
-- Returns: rows by name store.Cause
SELECT w.run_id, w.cause, w.message, w.detail FROM unnest($1::bigint[]) AS i(id) CROSS JOIN LATERAL rowrun.waiting(i.id) AS w
