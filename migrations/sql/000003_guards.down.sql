DROP TRIGGER replica_heartbeat_fill ON rowrun.replica_heartbeat;
DROP TRIGGER task_run_fixed ON rowrun.task_run;
DROP TRIGGER task_run_keep ON rowrun.task_run;
DROP TRIGGER task_run_guard ON rowrun.task_run;
DROP TRIGGER task_run_fill ON rowrun.task_run;
DROP TRIGGER task_dependency_moved ON rowrun.task_dependency;
DROP TRIGGER task_dependency_added ON rowrun.task_dependency;
DROP TRIGGER task_dependency_check ON rowrun.task_dependency;
DROP TRIGGER task_dependency_author ON rowrun.task_dependency;
DROP TRIGGER task_author_update ON rowrun.task;
DROP TRIGGER task_author_insert ON rowrun.task;
DROP TRIGGER task_fill ON rowrun.task;
DROP TRIGGER plan_fill ON rowrun.plan;
DROP FUNCTION rowrun.replica_heartbeat_fill(), rowrun.task_run_keep(), rowrun.task_run_fixed(), rowrun.task_run_guard(), rowrun.task_run_fill(),
    rowrun.task_run_bounds(rowrun.task_run),
    rowrun.task_dependency_acyclic(), rowrun.task_dependency_check(), rowrun.task_dependency_author(), rowrun.task_author_check(), rowrun.task_fill(), rowrun.plan_fill(),
    rowrun.check_id(bigint, regclass), rowrun.is_scheduling(), rowrun.is_author(), rowrun.is_authors(text), rowrun.is_trusted(), rowrun.is_owner();
DELETE FROM rowrun.migration WHERE version = 3;
