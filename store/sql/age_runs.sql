-- age_runs
-- Raises the priority of runs that have waited for another interval of their task's aging, those first that are due for it longest.
-- $1 bigint: how many at most
-- Returns: how many were raised; how many databases and keys of limits are to be looked at, as a run has another place in their order
-- What a run has missed is made up for at once. What holds a PENDING run stays what it is (rowrun.task_run_guard), as its priority is
-- no gate; where runs of a database exclude each other, or wait for one limit, their order says who may start. A row that somebody holds is left for later.
WITH due AS MATERIALIZED (
    SELECT r.id, r.age_at, r.task_id FROM rowrun.task_run r
    WHERE r.id = ANY (ARRAY(SELECT d.id FROM rowrun.task_run d
                            WHERE d.age_at <= (SELECT clock_timestamp()) AND d.age_at IS NOT NULL AND d.status IN ('PENDING', 'AVAILABLE')
                            ORDER BY d.age_at LIMIT $1))
      AND coalesce(r.status, '') IN ('PENDING', 'AVAILABLE') AND r.age_at <= clock_timestamp()
    ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED
), stepped AS MATERIALIZED (
    SELECT d.id, d.age_at, e.every, 1 + floor(extract(epoch FROM clock_timestamp() - d.age_at) / e.every) AS steps
    FROM due d JOIN rowrun.task k ON k.id = d.task_id CROSS JOIN LATERAL (SELECT extract(epoch FROM k.aging) AS every) e
), raised AS (
    UPDATE rowrun.task_run r
    SET priority = least(r.priority + coalesce(s.steps, 0), 2147483647)::integer,
        age_at = CASE WHEN r.priority + s.steps < 2147483647 THEN s.age_at + make_interval(secs => (s.steps * s.every)::float8) END
    FROM stepped s
    WHERE r.id = s.id
    RETURNING r.database_id, r.limit_wait, r.status
), marked AS (
    INSERT INTO rowrun.gate_mark (kind, database_id, limit_key)
    SELECT DISTINCT 'DATABASE', r.database_id, NULL FROM raised r WHERE r.database_id IS NOT NULL AND r.status = 'PENDING'
    UNION ALL
    SELECT DISTINCT 'LIMIT', NULL, r.limit_wait FROM raised r WHERE r.limit_wait IS NOT NULL AND r.status = 'PENDING'
    RETURNING id
)
SELECT (SELECT count(*) FROM raised), (SELECT count(*) FROM marked)
