-- record_stream_position
-- Records how far the stream was written: the newest of each second. The newest of all is the one with the highest second, so
-- that what was recorded before this and has a higher one, of a clock that was set back since, is forgotten.
-- $1 text: system identifier
-- $2 integer: timeline
-- $3 text: place in the log; '': the stream was not read from it
-- $4 timestamptz: moment
-- $5 text: what was committed then, a pg_snapshot
-- Returns: no row
WITH ahead AS (
    DELETE FROM rowrun.stream_position p
    WHERE p.second > date_trunc('second', $4::timestamptz)
      AND (p.second > clock_timestamp() OR pg_snapshot_xmax(p.snapshot) < pg_snapshot_xmax($5::text::pg_snapshot))
)
INSERT INTO rowrun.stream_position (second, system_id, timeline, lsn, at, snapshot, standbys_first)
VALUES (date_trunc('second', $4::timestamptz), $1, $2, nullif($3::text, '')::pg_lsn, $4, $5::text::pg_snapshot,
        coalesce(current_setting('synchronized_standby_slots', true), '') <> '')
ON CONFLICT (second) DO UPDATE SET system_id = excluded.system_id, timeline = excluded.timeline, lsn = excluded.lsn,
    at = excluded.at, snapshot = excluded.snapshot, standbys_first = excluded.standbys_first
