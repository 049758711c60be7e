-- stream_position_at
-- The newest recorded position of the stream that is not behind a place in the log.
-- $1 text: place, a pg_lsn
-- Returns: at most one row: store.StreamPosition
SELECT system_id, timeline, coalesce(lsn::text, ''), at, snapshot::text, standbys_first FROM rowrun.stream_position
WHERE lsn <= $1::text::pg_lsn ORDER BY lsn DESC, second DESC LIMIT 1
