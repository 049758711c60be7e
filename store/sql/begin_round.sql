-- begin_round
-- Begins a round trip that ends runs: the row of the replica comes first in the order of locks.
-- $1 text: the replica
-- $2 text: how long to wait for a lock, as a setting takes it
-- Returns: the second; whether the replica may claim
SELECT set_config('lock_timeout', $2, true),
       (SELECT true FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE) IS TRUE
