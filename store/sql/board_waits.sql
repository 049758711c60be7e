-- board_waits
-- For what a run that is PENDING no more is known to have waited, from the rows of those that it waited for: its time, the wave of its
-- task, the tasks that it depends on, the jobs that it comes after, and on its database the tasks of its plan. What held it beside
-- these (limits, pauses, replicas, runs of others on its database) left no trace.
-- $1 bigint: run
-- Returns: store.Wait, in the order of their ends
WITH r AS MATERIALIZED (
    SELECT x.id, x.task_id, x.plan_id, x.root_id, x.created_at, x.run_at, x.after, x.database_id, x.version_key, x.sequential,
        coalesce(x.available_at, x.started_at, x.finished_at) AS until
    FROM rowrun.task_run x WHERE x.id = $1 AND coalesce(x.available_at, x.started_at, x.finished_at) > x.created_at
), k AS MATERIALIZED (
    SELECT t.wave FROM r JOIN rowrun.task t ON t.id = r.task_id
), w AS (
    SELECT 'RUN_AT' AS cause, r.created_at AS since, r.run_at AS until, NULL::bigint AS run_id FROM r
    UNION ALL
    SELECT 'DEPENDENCY', r.created_at, v.opened_at, NULL FROM r CROSS JOIN k JOIN rowrun.plan_wave v ON v.plan_id = r.plan_id AND v.wave = k.wave
    UNION ALL
    (SELECT 'DEPENDENCY', e.created_at, e.finished_at, e.id
     FROM r CROSS JOIN LATERAL (SELECT d.depends_on_id FROM rowrun.task_dependency d WHERE d.task_id = r.task_id LIMIT 1000) d
     CROSS JOIN LATERAL (SELECT x.id, x.created_at, x.finished_at FROM rowrun.task_run x WHERE x.task_id = d.depends_on_id ORDER BY x.id DESC LIMIT 20) e
     WHERE e.finished_at > r.created_at AND e.finished_at <= r.until ORDER BY e.finished_at DESC LIMIT 20)
    UNION ALL
    (SELECT 'DEPENDENCY', r.created_at, e.finished_at, e.id
     FROM r CROSS JOIN LATERAL (SELECT a.id FROM unnest(r.after) a(id) LIMIT 100) a
     JOIN rowrun.task_run o ON o.id = a.id
     CROSS JOIN LATERAL (
        (SELECT x.id, x.status, x.finished_at FROM rowrun.task_run x WHERE x.root_id = o.root_id AND x.attempt > 0 AND x.retry_run_id IS NULL LIMIT 1)
        UNION ALL
        (SELECT x.id, x.status, x.finished_at FROM rowrun.task_run x WHERE x.id = o.root_id AND x.retry_run_id IS NULL)) e
     WHERE e.status = 'DONE' AND e.finished_at > r.created_at AND e.finished_at <= r.until ORDER BY e.finished_at DESC LIMIT 20)
    UNION ALL
    (SELECT CASE WHEN e.version_key < r.version_key THEN 'VERSION' ELSE 'DATABASE_BUSY' END,
        CASE WHEN e.version_key < r.version_key THEN e.created_at ELSE e.taken_at END, e.finished_at, e.id
     FROM r CROSS JOIN LATERAL (
        SELECT t.id FROM rowrun.task t WHERE t.plan_id = r.plan_id AND t.database_id = r.database_id AND t.id <> r.task_id LIMIT 200) t
     CROSS JOIN LATERAL (
        SELECT x.id, x.created_at, coalesce(x.available_at, x.started_at) AS taken_at, x.finished_at, x.version_key, x.sequential, x.database_id
        FROM rowrun.task_run x WHERE x.task_id = t.id ORDER BY x.id DESC LIMIT 20) e
     WHERE e.database_id = r.database_id AND e.finished_at > r.created_at AND e.finished_at <= r.until
       AND (e.version_key < r.version_key OR (e.sequential OR r.sequential) AND e.taken_at IS NOT NULL)
     ORDER BY e.finished_at DESC LIMIT 20)
)
SELECT w.cause, greatest(w.since, r.created_at), least(w.until, r.until), w.run_id FROM w CROSS JOIN r
WHERE w.until > r.created_at AND w.since < r.until ORDER BY 3, 2, 1
