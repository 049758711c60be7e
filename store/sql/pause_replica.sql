-- pause_replica
-- Has live replicas claim nothing.
-- $1 text: id or name
-- Returns: their ids; P0002 where there is none
SELECT rowrun.pause_replica($1)
