-- run_task_of_plan
-- Runs a task of each plan of that project and name once more, unless a run of it is unfinished.
-- $1 text: project
-- $2 text: name of the plan
-- $3 text: name of the task
-- Returns: how many runs were made
SELECT count(*) FROM rowrun.run_tasks(ARRAY(
    SELECT k.id FROM rowrun.plan p JOIN rowrun.task k ON k.plan_id = p.id
    WHERE p.project = $1 AND p.name = $2 AND k.name = $3))
