-- remove_old_plans
-- Removes plans of which every task is skipped or has only ended runs, and of which nothing is to be told.
-- $1 float8: how many seconds ago all that was
-- $2 float8: how many seconds ago FAILED runs ended
-- $3 bigint: plans from behind this one
-- $4 bigint: up to this one
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.plan WHERE id = ANY (ARRAY(
    SELECT p.id FROM rowrun.plan p
    WHERE p.id > $3 AND p.id <= $4 AND p.created_at < clock_timestamp() - make_interval(secs => $1)
      AND EXISTS (SELECT FROM rowrun.task k WHERE k.plan_id = p.id)
      AND NOT EXISTS (SELECT FROM rowrun.webhook_delivery d WHERE d.plan_id = p.id AND d.status = 'PENDING')
      AND NOT EXISTS (
          SELECT FROM rowrun.task k
          LEFT JOIN LATERAL (SELECT count(*) AS runs,
                                    bool_and(r.status IN ('DONE', 'FAILED', 'CANCELED')
                                             AND r.finished_at < clock_timestamp() - greatest(rowrun.keeps(k, r.status),
                                                 make_interval(secs => CASE r.status WHEN 'FAILED' THEN $2::float8 ELSE $1::float8 END))
                                             AND rowrun.keeps(k, r.status) IS DISTINCT FROM interval '0') AS old
                             FROM rowrun.task_run r WHERE r.task_id = k.id AND r.plan_id IS NOT NULL) x ON true
          WHERE k.plan_id = p.id AND NOT ((k.skipped AND x.runs = 0) OR (x.runs > 0 AND x.old)))))
