-- look_for_outage
-- Whether the deployment comes out of an outage, for a replica that is about to register.
-- $1 float8: its lease in s
-- $2 text[]: its queues
-- $3 text[]: its types
-- Returns: the recovery that is under way (0: none); whether a replica that claims is alive; for how many s none has been (-1: not
-- known, or none ever was); how many runs are due and not started, where no replica has been alive for longer than the lease
-- Counted are runs of what this replica and those whose rows are left take.
WITH now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), sign AS MATERIALIZED (
    SELECT coalesce(bool_or(h.state <> 'DEAD' AND h.last_heartbeat + h.lease > now.t), false) AS live,
           greatest(max(h.last_heartbeat), (SELECT d.last_alive_at FROM rowrun.deployment d WHERE isfinite(d.last_alive_at))) AS at
    FROM rowrun.replica_heartbeat h, now
    WHERE h.role = 'worker' AND NOT h.worker AND isfinite(h.last_heartbeat)
), served AS MATERIALIZED (
    SELECT q.queue, y.type FROM unnest($2::text[]) q(queue) CROSS JOIN unnest($3::text[]) y(type)
    UNION
    SELECT q.queue, y.type FROM rowrun.replica_heartbeat h CROSS JOIN unnest(h.queues) q(queue) CROSS JOIN unnest(h.types) y(type)
    WHERE h.role = 'worker' AND NOT h.worker
)
SELECT coalesce((SELECT r.id FROM rowrun.recovery r WHERE r.ended_at IS NULL), 0), s.live,
       coalesce(extract(epoch FROM now.t - s.at), -1)::float8,
       CASE WHEN NOT s.live AND s.at + make_interval(secs => $1) < now.t
            THEN rowrun.overdue_backlog(now.t, (SELECT array_agg(x.queue ORDER BY x.queue, x.type) FROM served x),
                                        (SELECT array_agg(x.type ORDER BY x.queue, x.type) FROM served x), 100000)
            ELSE 0 END
FROM sign s, now
