DROP TRIGGER replica_changed ON rowrun.replica_heartbeat;
DROP TRIGGER replica_came ON rowrun.replica_heartbeat;
DROP TRIGGER task_dependency_changed ON rowrun.task_dependency;
DROP TRIGGER plan_gate_changed ON rowrun.plan;
DROP TRIGGER task_moved ON rowrun.task;
DROP TRIGGER task_deleted ON rowrun.task;
DROP TRIGGER task_gate_changed ON rowrun.task;
DROP TRIGGER task_outcome_changed ON rowrun.task;
DROP TRIGGER task_run_deleted ON rowrun.task_run;
DROP TRIGGER task_run_by_hand ON rowrun.task_run;
DROP TRIGGER task_run_inserted ON rowrun.task_run;
DROP FUNCTION rowrun.replica_changed(), rowrun.task_dependency_changed(), rowrun.plan_gate_changed(),
    rowrun.task_left_plan(), rowrun.task_gate_changed(), rowrun.task_outcome_changed(), rowrun.task_run_deleted(), rowrun.note_edit(text, boolean), rowrun.note_ready(bigint),
    rowrun.task_run_by_hand(), rowrun.mark_ended(bigint[]), rowrun.mark_stopped(bigint[]), rowrun.announce(text[]), rowrun.announce_parts(text[]), rowrun.transition(rowrun.task_run),
    rowrun.task_run_inserted(), rowrun.is_quiet(), rowrun.notify_look(), rowrun.may_notify();
DROP TABLE rowrun.gate_mark;
DELETE FROM rowrun.migration WHERE version = 4;
