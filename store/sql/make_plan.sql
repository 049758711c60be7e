-- make_plan
-- Makes a plan, unless there is one of that project and name.
-- $1 text: project
-- $2 text: name
-- Returns: its id, where it was made
INSERT INTO rowrun.plan (project, name)
SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM rowrun.plan WHERE project = $1 AND name = $2)
RETURNING id
