-- remove_old_worker_requests
-- Removes requests of workers that nobody sends again, and what is left of claims on runs that have ended.
-- $1 bigint: how many of each at most
-- Returns: how many are gone
WITH request AS (
    DELETE FROM rowrun.worker_request WHERE request_hash = ANY (ARRAY(
        SELECT q.request_hash FROM rowrun.worker_request q WHERE q.made_at < now() - interval '1 day' ORDER BY q.made_at LIMIT $1))
    RETURNING 1
), claim AS (
    DELETE FROM rowrun.worker_claim WHERE claim_hash = ANY (ARRAY(
        SELECT c.claim_hash FROM rowrun.worker_claim c
        WHERE c.until < now() AND NOT EXISTS (SELECT FROM rowrun.task_run r
            WHERE r.id = c.run_id AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = c.claim_hash)
        LIMIT $1))
    RETURNING 1
)
SELECT (SELECT count(*) FROM request) + (SELECT count(*) FROM claim)
