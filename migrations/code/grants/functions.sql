-- Functions that write with their owner's rights, and internal ones, are for those named here and nobody else.
REVOKE ALL ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.abandon_run(bigint, text),
    rowrun.report_progress(bigint, uuid, jsonb), rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text),
    rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean, boolean, integer, rowrun.claim_request),
    rowrun.promote_next_version(text[], rowrun.claim_request), rowrun.end_batch(bigint[], uuid[], text[], jsonb[], text[], bigint[], boolean),
    rowrun.promote_next_of_plans(bigint[], integer, rowrun.claim_request), rowrun.lock_promotion(),
    rowrun.make_available(bigint[], timestamptz), rowrun.make_running(bigint[], timestamptz, rowrun.claim_request),
    rowrun.let_start(bigint[], timestamptz, rowrun.claim_request), rowrun.let_start_singly(bigint[], timestamptz, rowrun.claim_request),
    rowrun.let_start_in_turn(bigint[], bigint[], boolean, timestamptz, rowrun.claim_request), rowrun.write_causes(bigint[], text[]),
    rowrun.promote_ungated(timestamptz, integer, rowrun.claim_request), rowrun.take_marks(boolean, integer), rowrun.candidates(record, boolean, jsonb, integer), rowrun.first_looks(bigint[], timestamptz, integer),
    rowrun.lock_plans_of_ends(bigint[], bigint[], text[]), rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz),
    rowrun.insert_successors(bigint[], text[], bigint[], timestamptz),
    rowrun.verdicts_on(bigint[], bigint[], bigint[]), rowrun.apply_verdicts(record, bigint[], rowrun.claim_request), rowrun.mark_unseen_ends(bigint[], text[]), rowrun.leave_marks(record, bigint[], text[]),
    rowrun.mark_ended(bigint[], boolean), rowrun.mark_stopped(bigint[]), rowrun.task_run_edited(), rowrun.task_outcome_changed(), rowrun.task_run_deleted(),
    rowrun.task_gate_changed(), rowrun.task_left_plan(), rowrun.plan_gate_changed(), rowrun.task_dependency_changed(), rowrun.mark_waiting_for_replicas(), rowrun.mark_edited(text, boolean), rowrun.mark_ready(bigint), rowrun.mark_blocked(rowrun.task_run), rowrun.mark_needed(rowrun.task_run),
    rowrun.await_runs(bigint, bigint[], bigint), rowrun.mark_awaiting(bigint), rowrun.watch_awaited(bigint[], text[]), rowrun.overlooked_after(integer), rowrun.finish_plan(rowrun.plan, text),
    rowrun.announce_plans(bigint[]), rowrun.begin_round(bigint, integer, boolean), rowrun.begin_rounds(bigint[], boolean),
    rowrun.settle_plans(bigint[], jsonb, boolean), rowrun.set_skipped(bigint, boolean, text), rowrun.webhook_changed(), rowrun.webhook_deleted(),
    rowrun.retry_plan(bigint), rowrun.cancel_plan(bigint, text), rowrun.skip_task(bigint, text), rowrun.unskip_task(bigint),
    rowrun.remove_task(bigint), rowrun.remove_any_task(bigint), rowrun.remove_plan(bigint), rowrun.remove_any_plan(bigint),
    rowrun.remove_dependency(bigint, bigint), rowrun.remove_any_dependency(bigint, bigint), rowrun.delete_webhook(bigint),
    rowrun.task_dependency_check(), rowrun.task_dependency_acyclic(),
    rowrun.address_task_event(bigint[], text, bigint, bigint, bigint, text, text), rowrun.announce_failures(bigint[]), rowrun.announce_pause(bigint), rowrun.announce_orphans(text[]),
    rowrun.filter_fits(jsonb, bigint, text, text, text, jsonb), rowrun.task_called(bigint, text), rowrun.webhook_filter(),
    rowrun.address_event(bigint[], text, bigint, integer, text), rowrun.webhook_body(text, text, text, text), rowrun.webhook_content_type(text), rowrun.chat_message(jsonb), rowrun.chat_line(text),
    rowrun.slack_body(text, text, text[], text), rowrun.slack_text(text), rowrun.teams_body(text, text, text[], text), rowrun.teams_text(text, jsonb),
    rowrun.discord_body(text, text, text[], text, text), rowrun.discord_text(text)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.remove_task(bigint), rowrun.remove_plan(bigint), rowrun.remove_dependency(bigint, bigint) TO rowrun_client;
GRANT EXECUTE ON FUNCTION rowrun.remove_any_task(bigint), rowrun.remove_any_plan(bigint), rowrun.remove_any_dependency(bigint, bigint),
    rowrun.delete_webhook(bigint) TO rowrun_author;
GRANT EXECUTE ON FUNCTION rowrun.webhook_body(text, text, text, text), rowrun.webhook_content_type(text), rowrun.chat_message(jsonb), rowrun.chat_line(text),
    rowrun.slack_body(text, text, text[], text), rowrun.slack_text(text), rowrun.teams_body(text, text, text[], text), rowrun.teams_text(text, jsonb),
    rowrun.discord_body(text, text, text[], text, text), rowrun.discord_text(text) TO rowrun_author, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.announce_failures(bigint[]), rowrun.announce_pause(bigint), rowrun.announce_orphans(text[]) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.announce_plans(bigint[]), rowrun.begin_round(bigint, integer, boolean),
    rowrun.begin_rounds(bigint[], boolean), rowrun.settle_plans(bigint[], jsonb, boolean) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.retry_plan(bigint), rowrun.cancel_plan(bigint, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.skip_task(bigint, text), rowrun.unskip_task(bigint) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.mark_edited(text, boolean), rowrun.mark_ready(bigint), rowrun.mark_blocked(rowrun.task_run), rowrun.mark_needed(rowrun.task_run), rowrun.await_runs(bigint, bigint[], bigint) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.cancel_run(bigint, text), rowrun.retry_run(bigint), rowrun.report_progress(bigint, uuid, jsonb),
    rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.abandon_run(bigint, text) TO rowrun_operator, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.end_runs(bigint[], uuid[], text[], jsonb[], text[], bigint[]), rowrun.promote_runs(boolean, boolean, integer, rowrun.claim_request),
    rowrun.promote_next_version(text[], rowrun.claim_request), rowrun.end_batch(bigint[], uuid[], text[], jsonb[], text[], bigint[], boolean),
    rowrun.promote_next_of_plans(bigint[], integer, rowrun.claim_request), rowrun.lock_promotion(),
    rowrun.make_available(bigint[], timestamptz), rowrun.make_running(bigint[], timestamptz, rowrun.claim_request),
    rowrun.let_start(bigint[], timestamptz, rowrun.claim_request), rowrun.let_start_singly(bigint[], timestamptz, rowrun.claim_request),
    rowrun.let_start_in_turn(bigint[], bigint[], boolean, timestamptz, rowrun.claim_request), rowrun.write_causes(bigint[], text[]),
    rowrun.promote_ungated(timestamptz, integer, rowrun.claim_request), rowrun.take_marks(boolean, integer), rowrun.candidates(record, boolean, jsonb, integer), rowrun.first_looks(bigint[], timestamptz, integer),
    rowrun.lock_plans_of_ends(bigint[], bigint[], text[]), rowrun.make_ended(bigint[], uuid[], text[], jsonb[], bigint[], timestamptz),
    rowrun.insert_successors(bigint[], text[], bigint[], timestamptz),
    rowrun.verdicts_on(bigint[], bigint[], bigint[]), rowrun.apply_verdicts(record, bigint[], rowrun.claim_request), rowrun.mark_unseen_ends(bigint[], text[]), rowrun.leave_marks(record, bigint[], text[]),
    rowrun.mark_ended(bigint[], boolean), rowrun.mark_stopped(bigint[]) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.watch_awaited(bigint[], text[]), rowrun.overlooked_after(integer) TO rowrun_replica;
