-- stopped_schedules
-- Tasks whose schedule was paused by itself, as it could not be followed any more.
-- Returns: up to 100 rows: store.StoppedSchedule
SELECT k.id, k.name, coalesce(k.schedule, ''), k.schedule_error, rowrun.known_zone(k.time_zone)
FROM rowrun.task k WHERE k.schedule_error IS NOT NULL ORDER BY k.id LIMIT 100
