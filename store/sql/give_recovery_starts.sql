-- give_recovery_starts
-- Gives back starts that take_recovery_starts has granted and that were not made.
-- $1 bigint: the recovery
-- $2 bigint: how many
-- $3 float8: how many may be started per second
-- Returns: no row
UPDATE rowrun.recovery r SET paced_until = r.paced_until - make_interval(secs => $2::bigint / $3::float8) WHERE r.id = $1 AND r.ended_at IS NULL
