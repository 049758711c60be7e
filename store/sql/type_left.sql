-- type_left
-- What goes on of a type.
-- $1 text: type
-- Returns: how many live replicas claim runs of it, how many runs of it are RUNNING
SELECT (SELECT count(*) FROM rowrun.replica_heartbeat h
        WHERE h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > clock_timestamp() AND $1 = ANY (h.types)),
       (SELECT count(*) FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.type = $1)
