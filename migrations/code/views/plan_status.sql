-- For plans of 10,000 tasks: counted from what the tasks remember, with one look at the plan's unfinished runs of each
-- status (as IN, which is hashed; a join may be planned as a nested loop), each status by its place in the order of
-- display: numbers are compared faster than words.
CREATE OR REPLACE VIEW rowrun.plan_status WITH (security_invoker = true) AS
SELECT p.id AS plan_id, p.project, p.name, p.round, p.paused,
       CASE WHEN s.failed > 0 THEN 'FAILED' WHEN s.running > 0 THEN 'RUNNING' WHEN s.available > 0 THEN 'AVAILABLE'
            WHEN s.pending > 0 THEN 'PENDING' WHEN s.canceled > 0 THEN 'CANCELED'
            WHEN s.tasks > 0 AND s.done + s.skipped = s.tasks THEN 'DONE' ELSE 'NOT_STARTED' END AS status,
       s.tasks, s.not_started, s.pending, s.available, s.running, s.done, s.skipped, s.failed, s.canceled
FROM rowrun.plan p
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks,
           count(*) FILTER (WHERE x.place = 1) AS not_started,
           count(*) FILTER (WHERE x.place = 2) AS pending,
           count(*) FILTER (WHERE x.place = 3) AS available,
           count(*) FILTER (WHERE x.place = 4) AS running,
           count(*) FILTER (WHERE x.place = 5) AS done,
           count(*) FILTER (WHERE x.place = 6) AS skipped,
           count(*) FILTER (WHERE x.place = 7) AS failed,
           count(*) FILTER (WHERE x.place = 8) AS canceled
    FROM (
        SELECT CASE WHEN k.skipped THEN 6
                    WHEN k.id IN (SELECT u.task_id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'PENDING') THEN 2
                    WHEN k.id IN (SELECT u.task_id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'AVAILABLE') THEN 3
                    WHEN k.id IN (SELECT u.task_id FROM rowrun.task_run u WHERE u.plan_id = p.id AND u.status = 'RUNNING') THEN 4
                    ELSE CASE k.outcome WHEN 'DONE' THEN 5 WHEN 'FAILED' THEN 7 WHEN 'CANCELED' THEN 8 ELSE 1 END END AS place
        FROM rowrun.task k WHERE k.plan_id = p.id OFFSET 0
    ) x
) s;
COMMENT ON VIEW rowrun.plan_status IS 'A plan''s status, first that fits: FAILED, RUNNING, AVAILABLE, PENDING, CANCELED, DONE, NOT_STARTED; and how many tasks have which.';
