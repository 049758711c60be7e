DROP FUNCTION rowrun.advance_databases(text[]), rowrun.promote_runs(boolean, boolean, integer),
    rowrun.make_available(bigint[], timestamptz), rowrun.make_available_singly(bigint[], timestamptz), rowrun.hold_runs(bigint[], text[]),
    rowrun.promote_ungated(timestamptz, integer), rowrun.asked_for(timestamptz),
    rowrun.take_marks(boolean, integer), rowrun.overlooked_databases(text[]), rowrun.overlooked_plans(bigint[]),
    rowrun.candidates(record, boolean, integer), rowrun.waiting_on_databases(text[]), rowrun.waiting_of_tasks(bigint[]),
    rowrun.waiting_for_tasks(bigint[]), rowrun.waiting_for_mends(jsonb), rowrun.waiting_for_replicas(timestamptz),
    rowrun.waiting_of_plans(bigint[], bigint[], integer),
    rowrun.verdicts_on(bigint[]), rowrun.judge(bigint[], bigint[], timestamptz, bigint), rowrun.smallest_version(text),
    rowrun.apply_verdicts(record), rowrun.mark_unseen_ends(bigint[], text[]), rowrun.leave_marks(record, bigint[], text[]),
    rowrun.first_sequential(text, text, timestamptz), rowrun.sequential_open(bigint, timestamptz), rowrun.note_promoted(bigint[]), rowrun.promoted_now(),
    rowrun.plan_room(bigint),
    rowrun.closed_gate(rowrun.task_run, boolean, timestamptz), rowrun.own_cause(rowrun.task, timestamptz, timestamptz),
    rowrun.takes(rowrun.replica_heartbeat, timestamptz, text, text, text, jsonb), rowrun.fits(text, text, jsonb, text[], text[]);
DROP VIEW rowrun.unmet_dependency;
DROP TABLE rowrun.promotion_lock;
DELETE FROM rowrun.migration WHERE version = 5;
