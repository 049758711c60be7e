-- claim_rules
-- What a replica follows in claiming.
-- $1 text: replica
-- Returns: whether it is paused, in each row; whether the row has a rule; type, draining, alias, mapping. At least one row
SELECT EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND paused_at IS NOT NULL), t.type IS NOT NULL,
       coalesce(t.type, ''), coalesce(t.draining, false), coalesce(t.alias_of, ''), t.mapping
FROM (SELECT) one LEFT JOIN (SELECT * FROM rowrun.task_type ORDER BY type LIMIT 1000) t ON true ORDER BY t.type
