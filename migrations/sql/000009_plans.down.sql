DROP FUNCTION rowrun.unskip_task(bigint), rowrun.skip_task(bigint, text), rowrun.set_skipped(bigint, boolean, text),
    rowrun.cancel_plan(bigint, text), rowrun.retry_plan(bigint), rowrun.run_plan(bigint), rowrun.check_plan(bigint),
    rowrun.settle_plans(bigint[], jsonb, boolean), rowrun.begin_rounds(bigint[], boolean), rowrun.next_rounds(bigint[]),
    rowrun.begin_round(bigint, integer, boolean), rowrun.announce_plans(bigint[]),
    rowrun.plan_message(rowrun.plan, text), rowrun.due_event(rowrun.plan);
DELETE FROM rowrun.migration WHERE version = 9;
