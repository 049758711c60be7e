-- stream_moment
-- Returns: the present moment, its snapshot, the end of the log
SELECT clock_timestamp(), pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text
