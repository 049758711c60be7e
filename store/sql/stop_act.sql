-- stop_act
-- Ends an act where it is.
-- $1 bigint: act
-- $2 text: who stops it
-- Returns: no row; it changes one where the act was RUNNING
UPDATE rowrun.act SET state = 'STOPPED', stopped_by = $2, ended_at = clock_timestamp() WHERE id = $1 AND state = 'RUNNING'
