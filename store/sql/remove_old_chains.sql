-- remove_old_chains
-- Removes whole chains of tasks without a plan whose last run ended long ago.
-- $1 bigint: last runs from behind this one
-- $2 bigint: up to this one
-- $3 float8: how many seconds ago they ended
-- $4 float8: how many those that are FAILED
-- Returns: no row; it changes as many as are removed
WITH RECURSIVE chain AS (
    SELECT r.id, r.retry_of FROM rowrun.task_run r
    WHERE r.id > $1 AND r.id <= $2 AND r.plan_id IS NULL AND r.retry_run_id IS NULL
      AND r.status IN ('DONE', 'FAILED', 'CANCELED') AND r.finished_at < clock_timestamp() - make_interval(secs => CASE r.status WHEN 'FAILED' THEN $4::float8 ELSE $3::float8 END)
      -- Its task doesn't keep it longer than that.
      AND NOT EXISTS (SELECT FROM rowrun.task k WHERE k.id = r.task_id
                      AND (rowrun.keeps(k, r.status) = interval '0' OR r.finished_at >= clock_timestamp() - rowrun.keeps(k, r.status)))
    UNION ALL
    SELECT p.id, p.retry_of FROM chain c JOIN rowrun.task_run p ON p.id = c.retry_of
)
DELETE FROM rowrun.task_run WHERE id = ANY (ARRAY(SELECT id FROM chain))
