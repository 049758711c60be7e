-- drain_type
-- Has replicas claim no further run of a type, or again.
-- $1 text: type
-- $2 boolean: true: no further run
-- Returns: no row
INSERT INTO rowrun.task_type AS t (type, draining) VALUES ($1, $2)
ON CONFLICT (type) DO UPDATE SET draining = excluded.draining, changed_at = now() WHERE t.draining <> excluded.draining
