-- register_replica
-- Writes a replica's row, its first heartbeat.
-- $1 text: id
-- $2 text: name
-- $3 text: host
-- $4 text: version of the program
-- $5 float8: lease in seconds
-- $6 text[]: queues
-- $7 text[]: types
-- $8 text[]: target databases
-- $9 text[]: commands
-- $10 integer: how many runs it executes at once
-- $11 text: its role, worker or admin
-- $12 jsonb: how many runs of a type it executes at once where that is less, by type; "*": of each other type
-- Returns: no row
INSERT INTO rowrun.replica_heartbeat
    (replica_id, last_heartbeat, name, hostname, version, lease, queues, types, databases, commands, concurrency, role, type_concurrency)
VALUES ($1, clock_timestamp(), $2, $3, $4, make_interval(secs => $5), $6, $7, $8, $9, $10, $11, $12)
