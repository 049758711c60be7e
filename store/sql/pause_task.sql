-- pause_task
-- Pauses a task, or lets it go on.
-- $1 bigint: task
-- $2 boolean: true: it is paused
-- Returns: no row; it changes one where the task is there
UPDATE rowrun.task SET paused = $2 WHERE id = $1
