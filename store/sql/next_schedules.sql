-- next_schedules
-- Tasks that recur of which a run waits, by its time.
-- $1 bigint: how many at most
-- Returns: rows: store.Schedule
SELECT k.id, k.name, k.schedule, k.time_zone, k.misfire, k.overlap, (extract(epoch FROM k.spread) * 1000)::float8 AS spread_ms, k.starts_at, k.ends_at, k.paused,
    k.schedule_error, r.id AS run_id, r.tick, r.run_at, r.status
FROM rowrun.task_run r
JOIN rowrun.task k ON k.id = r.task_id
WHERE r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND coalesce(r.status, '') = 'PENDING' AND k.schedule IS NOT NULL
ORDER BY r.run_at, r.id LIMIT $1
