-- stream_start
-- Where a reader of the stream begins.
-- Returns: the highest id (0: there is no run), the moment, its snapshot
SELECT coalesce((SELECT r.id FROM rowrun.task_run r ORDER BY r.id DESC LIMIT 1), 0), clock_timestamp(), pg_current_snapshot()::text
