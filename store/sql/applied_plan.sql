-- applied_plan
-- The newest plan of that project and name.
-- $1 text: project
-- $2 text: name
-- Returns: id, parallel_limit, on_failure
SELECT id, parallel_limit, on_failure FROM rowrun.plan WHERE project = $1 AND name = $2 ORDER BY id DESC LIMIT 1
