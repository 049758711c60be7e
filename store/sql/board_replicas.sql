-- board_replicas
-- The replicas and workers whose row is there, the oldest first.
-- Returns: up to 1,000 rows: store.BoardReplica
SELECT replica_id, name, hostname, version, state, live, worker, started_at, last_heartbeat,
       (extract(epoch FROM clock_timestamp() - last_heartbeat) * 1000)::float8, (extract(epoch FROM lease) * 1000)::float8,
       queues, types, databases, commands, concurrency, running, coalesce(stream, false), wake_source, paused_at
FROM rowrun.replica_status ORDER BY started_at, replica_id LIMIT 1000
