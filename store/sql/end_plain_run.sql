-- end_plain_run
-- end_plain_runs for one run.
-- $1 bigint: the run
-- $2 bytea: the hash of its claim
-- $3 jsonb: its result
-- $4 text[]: databases that are looked at afterwards
-- Returns: the run, if it ended; when; the transaction; whether that was notified
UPDATE rowrun.task_run r
SET status = 'DONE', prev_status = 'RUNNING', edited_directly = NULL, finished_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'), claim_hash = NULL, result = $3
FROM (SELECT clock_timestamp() AS t) now
WHERE r.id = $1 AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = $2
  AND num_nonnulls(r.plan_id, r.tick, r.limit_keys) = 0 AND (r.database_id IS NULL OR r.database_id = ANY ($4::text[]))
  AND jsonb_typeof($3::jsonb) = 'object' AND NOT $3::jsonb ? 'state' AND pg_column_size($3::jsonb) < 2000
RETURNING r.id, r.finished_at, pg_current_xact_id()::text::bigint, rowrun.announce_one(rowrun.transition(r))
