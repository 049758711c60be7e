-- board_schedules
-- Tasks that recur, with the run that stands for the present tick and the last that ended. It is planned for its parameters.
-- $1 bigint: up to this id
-- $2 bigint: how many at most
-- $3 boolean: true: those whose next run comes soonest, false: the newest
-- Returns: store.BoardSchedule
SELECT k.id, k.name, k.schedule, k.time_zone, k.misfire, k.overlap, k.starts_at, k.ends_at, k.paused, k.schedule_error,
    r.id, r.status, r.run_at, l.id, l.status, l.finished_at, l.result ->> 'code'
FROM (
    SELECT x.id, x.name, x.schedule, x.time_zone, x.misfire, x.overlap, x.starts_at, x.ends_at, x.paused, x.schedule_error
    FROM rowrun.task x WHERE x.schedule IS NOT NULL AND x.id <= $1 ORDER BY x.id DESC LIMIT CASE WHEN $3 THEN 1000 ELSE $2::bigint END) k
LEFT JOIN LATERAL (SELECT y.id, y.status, y.run_at FROM rowrun.task_run y
    WHERE y.task_id = k.id AND y.tick IS NOT NULL AND y.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1) r ON true
LEFT JOIN LATERAL (SELECT y.id, y.status, y.finished_at, y.result FROM (
        SELECT z.id, z.status, z.finished_at, z.result FROM rowrun.task_run z WHERE z.task_id = k.id ORDER BY z.id DESC LIMIT 100) y
    WHERE y.status IN ('DONE', 'FAILED', 'CANCELED') ORDER BY y.id DESC LIMIT 1) l ON NOT $3 OR r.id IS NOT NULL
ORDER BY CASE WHEN $3 THEN r.run_at END, k.id DESC LIMIT $2
