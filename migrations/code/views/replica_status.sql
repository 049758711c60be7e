CREATE OR REPLACE VIEW rowrun.replica_status WITH (security_invoker = true) AS
SELECT h.replica_id, h.name, h.hostname, h.version, h.state, h.started_at, h.last_heartbeat, h.lease,
       h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp() AS live,
       h.queues, h.types, h.databases, h.commands, h.concurrency,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING') AS running,
       h.replica_id = (SELECT d.stream_replica_id FROM rowrun.deployment d) AS stream,
       h.wake_source, h.paused_at, h.worker, h.role, h.engines, h.reserve, h.set_aside
FROM rowrun.replica_heartbeat h;
COMMENT ON VIEW rowrun.replica_status IS 'The replicas and workers, whether they are alive and what they run.';
