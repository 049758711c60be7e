-- type_rules
-- Returns: up to 1,000 rows, by type: store.TypeRule
SELECT type, draining, coalesce(alias_of, ''), mapping FROM rowrun.task_type ORDER BY type LIMIT 1000
