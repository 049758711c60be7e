-- hand_over_run
-- Leaves a RUNNING run to the app: no replica holds it any more, and it takes no slot of a FAIR limit, so that the next turn is due.
-- $1 bigint: the run
-- $2 uuid: its claim
-- Returns: the run; no row where it had ended, is somebody else's, or a cancel was asked for
WITH handed AS (
    UPDATE rowrun.task_run SET replica_id = NULL
    WHERE id = $1 AND status = 'RUNNING' AND claim_hash = sha256(uuid_send($2::uuid)) AND cancel_requested_at IS NULL
    RETURNING id
), marked AS (
    INSERT INTO rowrun.gate_mark (kind, limit_key)
    SELECT 'LIMIT', h.limit_key FROM handed r JOIN rowrun.limit_holder h ON h.run_id = r.id AND h.share_id IS NOT NULL
)
SELECT id FROM handed
