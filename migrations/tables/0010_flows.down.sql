ALTER TABLE rowrun.plan DROP COLUMN on_finish_task;
DROP TABLE rowrun.run_after;
ALTER TABLE rowrun.task_run DROP COLUMN awaited;
ALTER TABLE rowrun.task_run DROP COLUMN after;
