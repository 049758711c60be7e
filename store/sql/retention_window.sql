-- retention_window
-- The next runs that retention looks at.
-- $1 bigint: the run behind which to look
-- $2 float8: how many seconds ago a run was inserted that is old
-- $3 bigint: how many
-- Returns: the last of them ($1: there is none), whether one is old
SELECT coalesce(max(w.id), $1), coalesce(bool_or(w.created_at < clock_timestamp() - make_interval(secs => $2)), false)
FROM (SELECT id, created_at FROM rowrun.task_run WHERE id > $1 ORDER BY id LIMIT $3) w
