-- act_make_plan
-- What an act makes: a plan with its tasks.
-- $1 text: the arguments of rowrun.create_plan by name; what is missing has its default
-- Returns: its id
SELECT rowrun.create_plan(m.name, m.tasks, m.project, m.parallel_limit, m.on_failure, m.on_finish_task)
FROM jsonb_to_record($1::text::jsonb) AS m(name text, tasks jsonb, project text, parallel_limit integer, on_failure text, on_finish_task text)
