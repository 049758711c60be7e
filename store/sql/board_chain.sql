-- board_chain
-- The runs of the chain that a run belongs to.
-- By the links in both directions: there is no index on root_id that covers a whole chain.
-- $1 bigint: any run of the chain
-- Returns: store.BoardRun, the newest first, at most 200
WITH RECURSIVE back AS (
    SELECT r.id, r.retry_of, 1 AS n FROM rowrun.task_run r WHERE r.id = $1
    UNION ALL
    SELECT b.id, b.retry_of, a.n + 1 FROM back a JOIN rowrun.task_run b ON b.id = a.retry_of WHERE a.n < 200
), forth AS (
    SELECT r.id, r.retry_run_id, 1 AS n FROM rowrun.task_run r WHERE r.id = $1
    UNION ALL
    SELECT b.id, b.retry_run_id, a.n + 1 FROM forth a JOIN rowrun.task_run b ON b.id = a.retry_run_id WHERE a.n < 1000
)
SELECT r.id, r.root_id, r.attempt, r.retry_of, r.retry_run_id, r.task_id, k.name, r.type, r.plan_id, p.name, r.queue, r.database_id,
    r.version, r.status, r.priority, r.run_at, r.created_at, r.available_at, r.started_at, r.finished_at, r.replica_id,
    r.result ->> 'code', left(r.result ->> 'detail', 300), CASE WHEN pg_column_size(r.progress) < 4000 THEN r.progress END,
    r.cancel_requested_at IS NOT NULL,
    CASE WHEN r.status = 'PENDING' THEN coalesce(r.cause, CASE WHEN r.run_at > now() THEN 'RUN_AT' END) END
FROM (SELECT back.id FROM back UNION SELECT forth.id FROM forth) c
JOIN rowrun.task_run r ON r.id = c.id JOIN rowrun.task k ON k.id = r.task_id LEFT JOIN rowrun.plan p ON p.id = r.plan_id
ORDER BY r.attempt DESC LIMIT 200
