-- status_replicas
-- The replicas whose row is there, the oldest first.
-- Returns: rows by name store.ReplicaStatus
SELECT replica_id, name, hostname, version, state, live, started_at, last_heartbeat,
       (extract(epoch FROM clock_timestamp() - last_heartbeat) * 1000)::float8 AS silent_ms,
       (extract(epoch FROM lease) * 1000)::float8 AS lease_ms,
       queues, types, databases, commands, concurrency, running, coalesce(stream, false) AS stream, paused_at, role,
       coalesce((SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(CASE WHEN jsonb_typeof(engines) = 'object' THEN engines END) e
                 WHERE jsonb_typeof(e.value) = 'string'), '{}') AS engines
FROM rowrun.replica_status ORDER BY started_at, replica_id
