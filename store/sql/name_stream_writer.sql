-- name_stream_writer
-- Records who writes the stream. Only the holder of the lock does.
-- $1 text: replica
-- Returns: no row
UPDATE rowrun.deployment SET stream_replica_id = $1 WHERE stream_replica_id IS DISTINCT FROM $1
