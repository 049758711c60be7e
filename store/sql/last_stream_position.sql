-- last_stream_position
-- Returns: at most one row: store.StreamPosition, the newest that was recorded
SELECT system_id, timeline, coalesce(lsn::text, ''), at, snapshot::text, standbys_first FROM rowrun.stream_position ORDER BY second DESC LIMIT 1
