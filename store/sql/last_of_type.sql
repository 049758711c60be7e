-- last_of_type
-- The last run of a type that is PENDING or AVAILABLE.
-- $1 text: type
-- Returns: its id; 0: there is none
SELECT coalesce(max(id), 0) FROM rowrun.task_run WHERE type = $1 AND status IN ('PENDING', 'AVAILABLE')
