-- plan_waves
-- How the waves of a plan stand.
-- $1 bigint: plan
-- Returns: rows store.PlanWave, in their order
SELECT wave, name, status, tasks, done, failed, (extract(epoch FROM soak) * 1000)::float8, max_failures, opened_at, opens_at, done_at,
    stopped_at
FROM rowrun.plan_wave_status WHERE plan_id = $1 ORDER BY wave
