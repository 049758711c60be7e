-- add_recovery_starts
-- What a replica has started in a recovery since it last said so.
-- $1 bigint: the recovery
-- $2 bigint: how many runs
-- $3 float8: how often the backlog is counted, in s
-- Returns: whether it is under way; whether it is time to count: it is, too, where the clock was set back behind the last count. No row:
-- it is gone
UPDATE rowrun.recovery r SET started = r.started + $2 WHERE r.id = $1
RETURNING r.ended_at IS NULL, clock_timestamp() NOT BETWEEN r.counted_at AND r.counted_at + make_interval(secs => $3)
