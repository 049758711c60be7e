DROP FUNCTION rowrun.waiting(bigint), rowrun.waits_for(rowrun.task_run), rowrun.able_replicas(rowrun.task_run, timestamptz), rowrun.ago(interval);
DELETE FROM rowrun.migration WHERE version = 7;
