-- writable
-- Whether the database takes writes, and does with them what it should.
-- Returns: standby; read only; triggers don't fire; row security hides rows
SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::boolean, current_setting('session_replication_role') = 'replica',
       EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (ARRAY[to_regclass('rowrun.task_run'), to_regclass('rowrun.task'), to_regclass('rowrun.plan'),
               to_regclass('rowrun.replica_heartbeat')]) AND c.relrowsecurity AND row_security_active(c.oid))
