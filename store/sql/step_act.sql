-- step_act
-- Goes on with an act.
-- $1 bigint: act
-- $2 integer: with how many targets at most
-- Returns: whether there is more to do; NULL: it is over, or somebody else is at it
SELECT rowrun.step_act($1, $2)
