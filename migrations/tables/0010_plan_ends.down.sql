ALTER TABLE rowrun.plan DROP COLUMN on_finish_task;
