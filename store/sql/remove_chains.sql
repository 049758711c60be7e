-- remove_chains
-- Removes runs, which are locked, and of tasks without a plan the earlier ones of their chains.
-- $1 bigint[]: the runs
-- Returns: no row; it changes as many as are removed
WITH RECURSIVE chain AS (
    SELECT r.id, r.retry_of, r.plan_id FROM rowrun.task_run r WHERE r.id = ANY ($1)
    UNION
    SELECT p.id, p.retry_of, p.plan_id FROM chain c JOIN rowrun.task_run p ON p.id = c.retry_of
    WHERE c.plan_id IS NULL
)
DELETE FROM rowrun.task_run WHERE id = ANY (ARRAY(SELECT id FROM chain))
