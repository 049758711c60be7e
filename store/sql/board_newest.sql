-- board_newest
-- The newest row of a kind: what comes later has a higher id.
-- $1 text: run, task, plan or delivery
-- Returns: its id, 0: there is none
SELECT coalesce(CASE $1 WHEN 'run' THEN (SELECT max(id) FROM rowrun.task_run) WHEN 'task' THEN (SELECT max(id) FROM rowrun.task)
                        WHEN 'plan' THEN (SELECT max(id) FROM rowrun.plan)
                        WHEN 'delivery' THEN (SELECT max(id) FROM rowrun.webhook_delivery) END, 0)
