-- report_progress
-- Stores what an executor reports.
-- $1 bigint: the run
-- $2 uuid: its claim
-- $3 jsonb: the progress
-- Returns: nothing; no row changes where the run had ended or is somebody else's
UPDATE rowrun.task_run SET progress = $3, progress_at = clock_timestamp()
WHERE id = $1 AND status = 'RUNNING' AND claim_hash = sha256(uuid_send($2::uuid))
