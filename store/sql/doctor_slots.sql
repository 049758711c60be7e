-- doctor_slots
-- The replication slots of Rowrun's in this database.
-- Returns: name, whether it is this deployment's, whether it is read, wal_status ('': none), bytes of log that it holds back
SELECT r.slot_name, r.slot_name = (SELECT 'rowrun_stream_' || left(d.id::text, 8) FROM rowrun.deployment d), r.active, coalesce(r.wal_status, ''),
       coalesce(CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), r.restart_lsn) END, 0)::bigint
FROM pg_replication_slots r
WHERE r.database = current_database() AND starts_with(r.slot_name::text, 'rowrun_stream_') ORDER BY 1
