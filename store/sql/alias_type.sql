-- alias_type
-- Has the executor of another type run the runs of a type, or ends that.
-- $1 text: the type whose runs these are
-- $2 text: the type whose executor runs them; '': its own again
-- $3 jsonb: what the payload's top-level keys are called there, a JSON object {"old": "new"}; NULL: the same
-- Returns: no row
INSERT INTO rowrun.task_type (type, alias_of, mapping) VALUES ($1, nullif($2, ''), $3::jsonb)
ON CONFLICT (type) DO UPDATE SET alias_of = excluded.alias_of, mapping = excluded.mapping, changed_at = now()
