CREATE OR REPLACE VIEW rowrun.task_status WITH (security_invoker = true) AS
SELECT k.id AS task_id, k.plan_id, k.name, k.type,
       CASE WHEN k.skipped THEN 'SKIPPED' ELSE coalesce(n.status, 'NOT_STARTED') END AS status,
       n.id AS last_run_id, n.result
FROM rowrun.task k
LEFT JOIN LATERAL (
    -- The newest run of a plan's task is the one that was unfinished last, whatever its id: the one that is, or else
    -- the last that ended. The highest id only counts where no end was ever recorded.
    SELECT x.id, x.status, x.result FROM (
        (SELECT r.id, r.status, r.result, 0 AS place FROM rowrun.task_run r
         WHERE k.plan_id IS NOT NULL AND r.task_id = k.id AND r.plan_id IS NOT NULL
           AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1)
        UNION ALL
        (SELECT r.id, r.status, r.result, 1 FROM rowrun.task_run r
         WHERE k.plan_id IS NOT NULL AND r.id = k.outcome_run_id)
        UNION ALL
        (SELECT r.id, r.status, r.result, 2 FROM rowrun.task_run r
         WHERE k.plan_id IS NOT NULL AND r.task_id = k.id AND r.plan_id IS NOT NULL ORDER BY r.id DESC LIMIT 1)
        UNION ALL
        (SELECT r.id, r.status, r.result, 2 FROM rowrun.task_run r
         WHERE k.plan_id IS NULL AND r.task_id = k.id ORDER BY r.id DESC LIMIT 1)
    ) x ORDER BY x.place LIMIT 1
) n ON true;
COMMENT ON VIEW rowrun.task_status IS 'A task''s status is that of its newest run; NOT_STARTED without one; SKIPPED where it is skipped.';
