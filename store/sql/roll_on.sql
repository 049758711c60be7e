-- roll_on
-- Opens a wave of a plan now, if it is the next one.
-- $1 bigint: plan
-- $2 integer: wave
-- Returns: whether it was opened; false: it is open already
SELECT rowrun.roll_on($1, $2) IS NOT NULL
