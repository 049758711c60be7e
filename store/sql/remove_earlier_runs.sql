-- remove_earlier_runs
-- Removes runs of plans' tasks that ended long ago, but for the one that tells how its task stands.
-- $1 bigint: from behind this run
-- $2 bigint: up to this one
-- $3 float8: how many seconds ago they ended
-- $4 float8: how many those that are FAILED
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.task_run r
WHERE r.id > $1 AND r.id <= $2
  AND r.status IN ('DONE', 'FAILED', 'CANCELED') AND r.finished_at < clock_timestamp() - make_interval(secs => CASE r.status WHEN 'FAILED' THEN $4::float8 ELSE $3::float8 END)
  -- Its task doesn't keep it longer than that.
  AND NOT EXISTS (SELECT FROM rowrun.task k WHERE k.id = r.task_id
                  AND (rowrun.keeps(k, r.status) = interval '0' OR r.finished_at >= clock_timestamp() - rowrun.keeps(k, r.status)))
  -- It isn't the run that tells how its plan's task stands.
  AND r.plan_id IS NOT NULL
  AND (EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = r.task_id AND u.plan_id IS NOT NULL
               AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
       OR r.id <> (SELECT coalesce(k.outcome_run_id, (SELECT n.id FROM rowrun.task_run n
                                                      WHERE n.task_id = k.id AND n.plan_id IS NOT NULL ORDER BY n.id DESC LIMIT 1))
                   FROM rowrun.task k WHERE k.id = r.task_id))
