-- sweep_schedules
-- Makes the runs that recurring tasks should have and don't.
-- $1 bigint: the task behind which to look
-- $2 integer: how many tasks at most
-- Returns: the last task that was looked at (0: behind the last of all), how many runs were made
SELECT coalesce(last_id, 0), made FROM rowrun.schedule_sweep($1, $2)
