-- retention_tasks
-- The next 1,000 tasks that have a retention of their own.
-- $1 bigint: the task behind which to look
-- Returns: the last of them; 0: there is none
SELECT coalesce(max(w.id), 0) FROM (
    SELECT x.id FROM (
        (SELECT k.id FROM rowrun.task k WHERE k.retention IS NOT NULL AND k.id > $1 ORDER BY k.id LIMIT 1000)
        UNION
        (SELECT k.id FROM rowrun.task k WHERE k.retention_by_status IS NOT NULL AND k.id > $1 ORDER BY k.id LIMIT 1000)) x
    ORDER BY x.id LIMIT 1000) w
