-- apply_plan
-- Makes a plan.
-- $1 text: project
-- $2 text: name
-- $3 integer: parallel_limit; NULL: no limit
-- $4 text: on_failure; NULL: the column's default
-- Returns: its id
INSERT INTO rowrun.plan (project, name, parallel_limit, on_failure) VALUES ($1, $2, $3, coalesce($4, 'STOP_DATABASE')) RETURNING id
