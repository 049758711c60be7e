-- resume_replica
-- Has live replicas claim again.
-- $1 text: id or name
-- Returns: their ids; P0002 where there is none
SELECT rowrun.resume_replica($1)
