-- add_waves
-- Gives new tasks of a plan waves.
-- $1 bigint: plan
-- $2 jsonb: the waves with the ids of their tasks, soak in seconds
-- Returns: the last wave of the plan
SELECT rowrun.add_waves($1, $2)
