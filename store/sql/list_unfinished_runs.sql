-- list_unfinished_runs
-- Runs that have not ended, the newest first. It is planned for its parameters.
-- $1 text: type; '': any
-- $2 text: queue; '': any
-- $3 text: target database; '': any
-- $4 bigint: plan; NULL: any
-- $5 bigint[]: tasks; NULL: any
-- $6 boolean: true: these tasks are of plans
-- $7 bigint: how many at most
-- $8 text[]: statuses: some of PENDING, AVAILABLE and RUNNING
-- $9 bigint: only of so many of each status, whichever these are; NULL: of all
-- Returns: rows by name store.Run
WITH w AS MATERIALIZED (
    (SELECT p.id, p.task_id, p.plan_id, p.type, p.queue, p.database_id FROM rowrun.pending_runs() p WHERE 'PENDING' = ANY ($8) LIMIT $9)
    UNION ALL
    (SELECT p.id, p.task_id, p.plan_id, p.type, p.queue, p.database_id FROM rowrun.task_run p
    WHERE 'AVAILABLE' = ANY ($8) AND p.status = 'AVAILABLE' LIMIT $9)
    UNION ALL
    (SELECT p.id, p.task_id, p.plan_id, p.type, p.queue, p.database_id FROM rowrun.task_run p
    WHERE 'RUNNING' = ANY ($8) AND p.status = 'RUNNING' LIMIT $9)
)
SELECT r.id, r.root_id, r.task_id, k.name AS task_name, r.type, r.queue, r.plan_id, r.database_id, r.version,
    r.attempt, r.retry_of, r.retry_run_id, r.status, r.run_at, r.replica_id, r.created_at, r.available_at, r.started_at,
    r.finished_at, r.updated_at, r.result ->> 'code' AS code, left(r.result ->> 'detail', 4096) AS detail
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = ANY (ARRAY(
    SELECT p.id FROM w p
    WHERE ($1 = '' OR p.type = $1) AND ($2 = '' OR p.queue = $2) AND ($3 = '' OR p.database_id = $3)
      AND ($4::bigint IS NULL OR p.plan_id IS NOT NULL AND p.task_id = ANY (ARRAY(SELECT t.id FROM rowrun.task t WHERE t.plan_id = $4)))
      AND ($5::bigint[] IS NULL OR p.task_id = ANY ($5)) AND (NOT $6 OR p.plan_id IS NOT NULL)
    ORDER BY p.id DESC LIMIT $7))
ORDER BY r.id DESC
