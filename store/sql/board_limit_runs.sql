-- board_limit_runs
-- The runs that take places of a limit with a key, and those that wait for one, in the order of promotion.
-- $1 text: limit
-- $2 text: key; '': the limit has none
-- $3 bigint: how many of each at most
-- Returns: run ids that hold places, run ids that wait
WITH k AS MATERIALIZED (
    SELECT c.id || ':' || $2 AS limit_key FROM rowrun.concurrency_limit c WHERE c.name = $1
)
SELECT ARRAY(SELECT h.run_id FROM k CROSS JOIN LATERAL (
                SELECT h.run_id FROM rowrun.limit_holder h
                CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.id = h.run_id AND coalesce(r.status, '') IN ('AVAILABLE', 'RUNNING') OFFSET 0) r
                WHERE h.limit_key = k.limit_key LIMIT $3) h),
       ARRAY(SELECT r.id FROM k CROSS JOIN LATERAL (
                SELECT r.id FROM rowrun.task_run r WHERE r.limit_wait = k.limit_key AND r.status = 'PENDING'
                ORDER BY r.priority DESC, r.run_at, r.id LIMIT $3) r)
