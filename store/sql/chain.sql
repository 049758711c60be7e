-- chain
-- The runs of the chain that a run belongs to.
-- By the links in both directions: there is no index on root_id that covers a whole chain.
-- $1 bigint: any run of the chain
-- $2 bigint: how many at most
-- Returns: the last of them, the newest first
WITH RECURSIVE back AS (
    SELECT r.id, r.retry_of FROM rowrun.task_run r WHERE r.id = $1
    UNION ALL
    SELECT p.id, p.retry_of FROM back b JOIN rowrun.task_run p ON p.id = b.retry_of
), forth AS (
    SELECT r.id, r.retry_run_id FROM rowrun.task_run r WHERE r.id = $1
    UNION ALL
    SELECT n.id, n.retry_run_id FROM forth f JOIN rowrun.task_run n ON n.id = f.retry_run_id
)
SELECT r.id, r.root_id, r.task_id, k.name AS task_name, r.type, r.queue, r.plan_id, r.database_id, r.version,
    r.attempt, r.retry_of, r.retry_run_id, r.status, r.run_at, r.replica_id, r.created_at, r.available_at, r.started_at,
    r.finished_at, r.updated_at, r.result ->> 'code' AS code, left(r.result ->> 'detail', 4096) AS detail
FROM (SELECT back.id FROM back UNION SELECT forth.id FROM forth) c
JOIN rowrun.task_run r ON r.id = c.id JOIN rowrun.task k ON k.id = r.task_id
ORDER BY r.attempt DESC LIMIT $2
