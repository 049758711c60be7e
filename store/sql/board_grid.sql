-- board_grid
-- The tasks of a plan with how their newest runs stand: from what the tasks remember, and one look at the unfinished runs.
-- $1 bigint: plan
-- $2 bigint: how many at most
-- Returns: store.GridTask, by id
WITH u AS MATERIALIZED (
    SELECT r.id, r.task_id, r.status, r.attempt, r.created_at, r.available_at, r.started_at, r.run_at, r.cause
    FROM rowrun.task_run r WHERE r.plan_id = $1 AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
)
SELECT k.id, k.name, k.type, coalesce(k.database_id, ''), coalesce(k.version, ''), coalesce(k.version_key, ''),
    CASE WHEN k.skipped THEN 'SKIPPED' ELSE coalesce(u.status, k.outcome, 'NOT_STARTED') END, k.paused,
    coalesce(u.id, e.id, 0), coalesce(u.attempt, e.attempt, 0),
    CASE WHEN u.id IS NULL THEN e.started_at ELSE u.started_at END, CASE WHEN u.id IS NULL THEN e.finished_at END,
    CASE u.status WHEN 'PENDING' THEN u.created_at WHEN 'AVAILABLE' THEN u.available_at WHEN 'RUNNING' THEN u.started_at ELSE e.finished_at END,
    CASE WHEN u.status = 'PENDING' THEN coalesce(u.cause, CASE WHEN u.run_at > now() THEN 'RUN_AT' END, '') ELSE '' END,
    CASE WHEN u.id IS NULL THEN coalesce(e.result ->> 'code', '') ELSE '' END,
    CASE WHEN u.id IS NULL AND e.status = 'FAILED' THEN rowrun.normal_error(e.result ->> 'detail') ELSE '' END,
    clock_timestamp()
FROM rowrun.task k
LEFT JOIN u ON u.task_id = k.id
LEFT JOIN rowrun.task_run e ON e.id = k.outcome_run_id AND u.id IS NULL
WHERE k.plan_id = $1
ORDER BY k.id LIMIT $2
