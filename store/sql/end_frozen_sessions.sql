-- end_frozen_sessions
-- Ends sessions of this role that hold the lock of the gates or the row of a replica while their client takes no answer: its process stands
-- still, and the server has no limit for a session that writes.
-- $1 float8: for how many seconds their statement has run at least
-- Returns: their process ids; whether the signal was sent
SELECT a.pid, pg_terminate_backend(a.pid)
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.wait_event = 'ClientWrite' AND a.pid <> pg_backend_pid()
  AND a.query_start < clock_timestamp() - make_interval(secs => $1)
  AND EXISTS (SELECT FROM pg_locks l
              WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowShareLock' AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                AND l.relation IN ('rowrun.promotion_lock'::regclass, 'rowrun.replica_heartbeat'::regclass))
