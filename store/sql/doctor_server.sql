-- doctor_server
-- What the server tells of itself and of who asks; it needs no schema.
-- Returns: one row, by name store.ServerFacts
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::bigint AS version_num, current_setting('wal_level') AS wal_level,
       current_setting('max_slot_wal_keep_size') AS slot_keep_size,
       current_setting('fsync')::boolean AS fsync, current_setting('full_page_writes')::boolean AS full_page_writes,
       current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS autovacuum,
       current_setting('max_replication_slots')::bigint - (SELECT count(*) FROM pg_replication_slots) AS free_slots,
       current_setting('max_connections')::bigint AS max_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
       current_user::text AS role,
       (SELECT r.rolsuper OR r.rolreplication FROM pg_roles r WHERE r.rolname = current_user) AS replication,
       to_regrole('rowrun_replica') IS NOT NULL AS known, coalesce(pg_has_role(current_user, to_regrole('rowrun_replica'), 'USAGE'), false) AS member,
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_other_sessions,
       pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::boolean AS read_only,
       (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_isolation') AS isolation,
       pg_notification_queue_usage() AS notify_queue
