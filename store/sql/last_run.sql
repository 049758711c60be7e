-- last_run
-- The last run of the chain that a run belongs to.
-- $1 bigint: any run of the chain
-- Returns: at most one row, by name store.Run
SELECT r.id, r.root_id, r.task_id, k.name AS task_name, r.type, r.queue, r.plan_id, r.database_id, r.version,
    r.attempt, r.retry_of, r.retry_run_id, r.status, r.run_at, r.replica_id, r.created_at, r.available_at, r.started_at,
    r.finished_at, r.updated_at, r.result ->> 'code' AS code, left(r.result ->> 'detail', 4096) AS detail
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = (
    SELECT coalesce((SELECT e.id FROM rowrun.task_run e
                     WHERE e.root_id = c.root_id AND e.attempt > 0 AND e.retry_run_id IS NULL), c.id)
    FROM rowrun.task_run c WHERE c.id = $1)
