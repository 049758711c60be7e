-- lock_early_runs
-- Locks old runs of tasks whose own retention is shorter, as far as nobody else holds them.
-- Tasks of either kind are found by an index of their own. The subquery is asked for each of the window: the index on (task_id, finished_at) answers it.
-- $1 bigint: tasks from behind this one
-- $2 bigint: up to this one
-- $3 float8: retentions below so many seconds
-- $4 float8: those of FAILED runs below so many
-- $5 bigint: how many runs at most
-- Returns: the runs that are locked
WITH due AS MATERIALIZED (
    SELECT x.id
    FROM (SELECT k.id FROM rowrun.task k WHERE k.retention IS NOT NULL AND k.id > $1 AND k.id <= $2
          UNION
          SELECT k.id FROM rowrun.task k WHERE k.retention_by_status IS NOT NULL AND k.id > $1 AND k.id <= $2) w
    JOIN rowrun.task t ON t.id = w.id
    CROSS JOIN (VALUES ('DONE', $3::float8), ('FAILED', $4::float8), ('CANCELED', $3::float8)) s(status, others)
    CROSS JOIN LATERAL (
        SELECT r.id FROM rowrun.task_run r
        WHERE r.task_id = t.id AND r.own_retention AND r.status IN ('DONE', 'FAILED', 'CANCELED') AND r.status = s.status
          AND r.finished_at < clock_timestamp() - rowrun.keeps(t, s.status)
          -- The last run of its chain; of a plan's task one that doesn't tell how the task stands.
          AND CASE WHEN r.plan_id IS NULL THEN r.retry_run_id IS NULL ELSE r.plan_id IS NOT NULL
               AND (EXISTS (SELECT FROM rowrun.task_run u WHERE u.task_id = r.task_id AND u.plan_id IS NOT NULL
                            AND u.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
                    OR r.id <> (SELECT coalesce(k.outcome_run_id, (SELECT n.id FROM rowrun.task_run n
                                                                   WHERE n.task_id = k.id AND n.plan_id IS NOT NULL ORDER BY n.id DESC LIMIT 1))
                                FROM rowrun.task k WHERE k.id = r.task_id)) END
        ORDER BY r.finished_at LIMIT $5) x
    WHERE rowrun.keeps(t, s.status) > interval '0' AND rowrun.keeps(t, s.status) < make_interval(secs => s.others)
    LIMIT $5
)
SELECT r.id FROM rowrun.task_run r
WHERE r.id = ANY (ARRAY(SELECT id FROM due)) AND (r.plan_id IS NOT NULL OR r.retry_run_id IS NULL)
FOR UPDATE OF r SKIP LOCKED
