CREATE OR REPLACE VIEW rowrun.failed_run WITH (security_invoker = true) AS
SELECT r.id AS run_id, r.root_id, r.task_id, k.name AS task, r.plan_id, r.type, r.queue, r.database_id, r.version, r.attempt,
       r.finished_at, r.replica_id, r.result ->> 'code' AS code, r.result ->> 'detail' AS detail
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.status = 'FAILED' AND r.retry_run_id IS NULL
ORDER BY r.finished_at DESC;
COMMENT ON VIEW rowrun.failed_run IS 'Runs that failed for good, newest first.';
