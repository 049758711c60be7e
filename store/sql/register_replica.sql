-- register_replica
-- Writes a replica's row, its first heartbeat. release is that of the code that its statements are of.
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
-- $12 integer[]: slots that only runs of at least a priority take: the priority, their number, and so on; NULL: none
-- $13 jsonb: how many runs of a type it executes at once where that is less, by type; "*": of each other type
-- Returns: no row
INSERT INTO rowrun.replica_heartbeat
    (replica_id, last_heartbeat, name, hostname, version, lease, queues, types, databases, commands, concurrency, role, reserve, type_concurrency, release)
VALUES ($1, clock_timestamp(), $2, $3, $4, make_interval(secs => $5), $6, $7, $8, $9, $10, $11, $12, $13, 2)
