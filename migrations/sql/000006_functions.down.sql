DROP VIEW rowrun.failed_run, rowrun.replica_status, rowrun.plan_status, rowrun.task_status, rowrun.job;
DROP FUNCTION rowrun.delete_dependency(bigint, bigint), rowrun.remove_any_dependency(bigint, bigint), rowrun.remove_dependency(bigint, bigint),
    rowrun.delete_plan(bigint), rowrun.remove_any_plan(bigint), rowrun.remove_plan(bigint),
    rowrun.delete_task(bigint), rowrun.remove_any_task(bigint), rowrun.remove_task(bigint),
    rowrun.fail_run(bigint, uuid, text), rowrun.complete_run(bigint, uuid, jsonb),
    rowrun.report_progress(bigint, uuid, jsonb), rowrun.abandon_run(bigint, text), rowrun.retry_run(bigint),
    rowrun.cancel_run(bigint, text), rowrun.run_tasks(bigint[], timestamptz),
    rowrun.run_task(text, jsonb, timestamptz, integer, text), rowrun.run_task(bigint, jsonb, timestamptz, integer, text),
    rowrun.define_task, rowrun.check_isolation(),
    rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.lock_plans_of_ends(bigint[], bigint[], text[]),
    rowrun.judge_ends(bigint[], uuid[], text[], jsonb[], text[]), rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz),
    rowrun.insert_successors(bigint[], text[], bigint[], timestamptz), rowrun.next_run_id(), rowrun.next_log_id();
DELETE FROM rowrun.migration WHERE version = 6;
