-- move_waves
-- What a person does with the waves of a plan.
-- $1 bigint: plan
-- $2 text: RESUME, ROLL_ON or GIVE_UP
-- $3 text: reason; '': none
-- Returns: how many runs were made or canceled, or the wave that was opened
SELECT rowrun.move_waves($1, $2, nullif($3, ''))
