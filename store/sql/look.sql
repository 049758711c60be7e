-- look
-- Wakes every replica that listens, as an INSERT would. The notification is all that is lost in a crash, so that the commit
-- waits for no disk.
-- Returns: nothing of use
SELECT set_config('synchronous_commit', 'off', true), CASE WHEN rowrun.may_notify() THEN pg_notify('rowrun_task_run', '[]') END
