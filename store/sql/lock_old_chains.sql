-- lock_old_chains
-- Locks the last runs of chains of tasks without a plan that ended long ago, as far as nobody else holds them: a retry that somebody
-- is just making holds its run.
-- $1 bigint: from behind this run
-- $2 bigint: up to this one
-- $3 float8: how many seconds ago they ended
-- $4 float8: how many those that are FAILED
-- Returns: the runs that are locked
SELECT r.id FROM rowrun.task_run r
WHERE r.id > $1 AND r.id <= $2 AND r.plan_id IS NULL AND r.retry_run_id IS NULL
  AND r.status IN ('DONE', 'FAILED', 'CANCELED') AND r.finished_at < clock_timestamp() - make_interval(secs => CASE r.status WHEN 'FAILED' THEN $4::float8 ELSE $3::float8 END)
  -- Its task doesn't keep it longer than that.
  AND NOT EXISTS (SELECT FROM rowrun.task k WHERE k.id = r.task_id
                  AND (rowrun.keeps(k, r.status) = interval '0' OR r.finished_at >= clock_timestamp() - rowrun.keeps(k, r.status)))
FOR UPDATE OF r SKIP LOCKED
