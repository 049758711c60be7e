-- leave_stream
-- Leaves to the next writer of the stream how far this one has come.
-- $1 timestamptz: the moment before which all is written
-- $2 text: what was committed then, a pg_snapshot
-- $3 bigint[]: runs of which later transitions are written
-- $4 text: of each of these the rank of the last one, a digit 1 to 4
-- $5 bigint[]: the lowest and the highest id of each range in which no run was seen
-- Returns: no row
WITH former AS (DELETE FROM rowrun.stream_handover h USING rowrun.deployment d WHERE h.replica_id <> d.stream_replica_id)
INSERT INTO rowrun.stream_handover (replica_id, at, snapshot, run_ids, ranks, unseen)
SELECT d.stream_replica_id, $1, $2::text::pg_snapshot, $3::bigint[], $4, $5::bigint[] FROM rowrun.deployment d WHERE d.stream_replica_id <> ''
ON CONFLICT (replica_id) DO UPDATE SET at = excluded.at, snapshot = excluded.snapshot, run_ids = excluded.run_ids, ranks = excluded.ranks,
    unseen = excluded.unseen
