-- list_schedules
-- Tasks that recur, the newest first, with the run that stands for the present tick.
-- $1 bigint: how many at most
-- Returns: rows: store.Schedule
SELECT k.id, k.name, k.schedule, k.time_zone, k.misfire, k.overlap, (extract(epoch FROM k.spread) * 1000)::float8 AS spread_ms, k.starts_at, k.ends_at, k.paused,
    k.schedule_error, r.id AS run_id, r.tick, r.run_at, r.status
FROM rowrun.task k
LEFT JOIN rowrun.task_run r ON r.task_id = k.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
WHERE k.schedule IS NOT NULL
ORDER BY k.id DESC LIMIT $1
