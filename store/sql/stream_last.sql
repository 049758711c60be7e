-- stream_last
-- Returns: the last 65,536 runs and their statuses
SELECT r.id, r.status FROM rowrun.task_run r ORDER BY r.id DESC LIMIT 65536
