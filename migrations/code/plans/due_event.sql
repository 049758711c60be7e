-- Plans as a whole: which event a round has, who may begin the next one, and what people do with a plan.
--
-- Whoever decides an event or begins a round holds the plan's row (FOR NO KEY UPDATE), taken by a statement of its own
-- before anything is counted: two that end the last two runs at once see one another.

-- The event that a plan's round is due, NULL: none, or it was decided. Inlined where it is called. What is asked at
-- every end of a run costs the same with any number of tasks: the open task is looked for from the newest on, because
-- the entries of those that were done first are still passed by a look from the other side.
CREATE OR REPLACE FUNCTION rowrun.due_event(p rowrun.plan) RETURNS TABLE (event text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE
        WHEN p.announced_round >= p.round THEN NULL
        WHEN EXISTS (
            SELECT FROM rowrun.task f
            WHERE f.plan_id = p.id AND f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped
              AND NOT EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = f.id AND u.plan_id IS NOT NULL
                              AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        ) THEN 'PIPELINE_FAILED'
        WHEN p.paused THEN NULL
        WHEN (SELECT o.id FROM rowrun.task o
              WHERE o.plan_id = p.id AND o.plan_id IS NOT NULL AND NOT o.skipped AND o.outcome IS DISTINCT FROM 'DONE'
              ORDER BY o.plan_id DESC, o.id DESC LIMIT 1) IS NOT NULL THEN NULL
        WHEN EXISTS (
            SELECT FROM rowrun.task_run u JOIN rowrun.task k ON k.id = u.task_id
            WHERE u.plan_id = p.id AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND NOT k.skipped
        ) THEN NULL
        WHEN EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id = p.id) THEN 'PIPELINE_COMPLETED'
    END
    FROM (SELECT) one;
END;
COMMENT ON FUNCTION rowrun.due_event(rowrun.plan) IS 'Internal: the event that a plan''s round is due.';
