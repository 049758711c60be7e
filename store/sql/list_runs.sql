-- list_runs
-- Runs, the newest first. It is planned for its parameters.
-- $1 text: type; '': any
-- $2 text: queue; '': any
-- $3 text: target database; '': any
-- $4 bigint: plan; NULL: any. The index by task also serves its plan
-- $5 bigint[]: tasks; NULL: any
-- $6 boolean: true: these tasks are of plans, so that the index on runs of plans serves
-- $7 bigint: how many at most
-- $8 text[]: statuses; '{}': any
-- $9 bigint: only of so many ids before the newest; NULL: of all
-- Returns: rows by name store.Run
SELECT r.id, r.root_id, r.task_id, k.name AS task_name, r.type, r.queue, r.plan_id, r.database_id, r.version,
    r.attempt, r.retry_of, r.retry_run_id, r.status, r.run_at, r.replica_id, r.created_at, r.available_at, r.started_at,
    r.finished_at, r.updated_at, r.result ->> 'code' AS code, left(r.result ->> 'detail', 4096) AS detail
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
WHERE r.id = ANY (ARRAY(
    SELECT p.id FROM rowrun.task_run p
    WHERE ($1 = '' OR p.type = $1) AND ($2 = '' OR p.queue = $2) AND ($3 = '' OR p.database_id = $3)
      AND ($4::bigint IS NULL OR p.plan_id IS NOT NULL AND p.task_id = ANY (ARRAY(SELECT t.id FROM rowrun.task t WHERE t.plan_id = $4)))
      AND ($5::bigint[] IS NULL OR p.task_id = ANY ($5)) AND (NOT $6 OR p.plan_id IS NOT NULL)
      AND (cardinality($8::text[]) = 0 OR p.status = ANY ($8))
      AND ($9::bigint IS NULL OR p.id > (SELECT max(x.id) - $9 FROM rowrun.task_run x))
    ORDER BY p.id DESC LIMIT $7))
ORDER BY r.id DESC
