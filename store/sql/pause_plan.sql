-- pause_plan
-- Pauses a plan, or lets it go on.
-- $1 bigint: plan
-- $2 boolean: true: it is paused
-- Returns: no row; it changes one where the plan is there
UPDATE rowrun.plan SET paused = $2 WHERE id = $1
