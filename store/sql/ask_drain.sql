-- ask_drain
-- Has live replicas drain and stop.
-- $1 text: id or name
-- Returns: their ids; P0002 where there is none
SELECT rowrun.drain_replica($1)
