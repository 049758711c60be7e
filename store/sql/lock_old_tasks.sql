-- lock_old_tasks
-- Locks the tasks of plans: who has just inserted a run of one holds it.
-- $1 bigint[]: the plans
-- Returns: those of the plans of which all tasks are locked
WITH locked AS MATERIALIZED (
    SELECT k.id FROM rowrun.task k WHERE k.plan_id = ANY ($1) ORDER BY k.id FOR UPDATE OF k SKIP LOCKED
)
SELECT p.id FROM unnest($1::bigint[]) p(id)
WHERE NOT EXISTS (SELECT FROM rowrun.task k LEFT JOIN locked l ON l.id = k.id WHERE k.plan_id = p.id AND l.id IS NULL)
