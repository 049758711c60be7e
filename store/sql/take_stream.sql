-- take_stream
-- Takes what a former writer of the stream has left, once.
-- $1 text: replica that wrote
-- Returns: at most one row: moment, snapshot, runs, their ranks, ranges of ids without any (see leave_stream)
DELETE FROM rowrun.stream_handover WHERE replica_id = $1 RETURNING at, snapshot::text, run_ids, ranks, unseen
