-- retention_plans
-- The next plans that retention looks at: those that are old themselves.
-- $1 bigint: the plan behind which to look
-- $2 float8: how many seconds ago a plan was inserted that is old
-- $3 bigint: how many
-- Returns: the last of them; $1: there is none
SELECT coalesce(max(w.id), $1)
FROM (SELECT p.id FROM rowrun.plan p
      WHERE p.id > $1 AND p.created_at < (SELECT clock_timestamp() - make_interval(secs => $2)) ORDER BY p.id LIMIT $3) w
