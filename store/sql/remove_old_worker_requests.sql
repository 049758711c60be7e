-- remove_old_worker_requests
-- Removes requests of workers that nobody sends again, and what is left of claims on runs that have ended.
-- Returns: no row
WITH gone AS (DELETE FROM rowrun.worker_request WHERE made_at < clock_timestamp() - interval '1 day')
DELETE FROM rowrun.worker_claim c
WHERE c.until < clock_timestamp() AND NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.id = c.run_id AND coalesce(r.status, '') = 'RUNNING')
