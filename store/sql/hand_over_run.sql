-- hand_over_run
-- Leaves a RUNNING run to the app: no replica holds it any more.
-- $1 bigint: the run
-- $2 uuid: its claim
-- Returns: nothing; no row changes where it had ended, is somebody else's, or a cancel was asked for
UPDATE rowrun.task_run SET replica_id = NULL
WHERE id = $1 AND status = 'RUNNING' AND claim_hash = sha256(uuid_send($2::uuid)) AND cancel_requested_at IS NULL
