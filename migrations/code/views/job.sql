-- Views. A chain ends with the run that has no successor.
CREATE OR REPLACE VIEW rowrun.job WITH (security_invoker = true) AS
SELECT r.id AS root_id, r.task_id, r.status, r.id AS last_run_id, 1 AS attempts, r.plan_id, r.created_at, r.run_at,
       r.started_at, r.finished_at, r.progress, r.result
FROM rowrun.task_run r WHERE r.attempt = 0 AND r.retry_run_id IS NULL
UNION ALL
SELECT r.root_id, r.task_id, r.status, r.id, least(r.attempt, 2147483646) + 1, r.plan_id, r.created_at, r.run_at,
       r.started_at, r.finished_at, r.progress, r.result
FROM rowrun.task_run r WHERE r.attempt > 0 AND r.retry_run_id IS NULL;
COMMENT ON VIEW rowrun.job IS 'One row per chain of retries: its first run''s id and how its last run stands.';
