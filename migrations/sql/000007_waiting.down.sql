DROP FUNCTION rowrun.waiting(bigint), rowrun.waiting_pages(), rowrun.waits_for(bigint[]),
    rowrun.waits_for_database(bigint[], timestamptz), rowrun.waits_for_plan(bigint[], timestamptz), rowrun.waits_for_replica(bigint[], timestamptz),
    rowrun.passed_by(bigint[], timestamptz), rowrun.kind_stands(text, text, text, jsonb, timestamptz, boolean),
    rowrun.plan_stands(bigint, timestamptz), rowrun.failed_task(bigint, text), rowrun.tasks_ahead(bigint),
    rowrun.database_stands(text), rowrun.other_versions(text, text), rowrun.stuck_on_database(text, timestamptz),
    rowrun.sequential_ahead(text, text, timestamptz), rowrun.waiting_runs(bigint[]), rowrun.able_replicas(rowrun.task_run, timestamptz),
    rowrun.ago(interval);
DELETE FROM rowrun.migration WHERE version = 7;
