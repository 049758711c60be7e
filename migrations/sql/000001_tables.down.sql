DROP TABLE rowrun.task_run_log, rowrun.task_run, rowrun.task_dependency, rowrun.task, rowrun.plan, rowrun.deployment, rowrun.migration;
DROP FUNCTION rowrun.too_deep(jsonb), rowrun.version_key(text);
