-- limit_worries
-- Limits that somebody should look at.
-- Returns: up to 100 rows: store.LimitWorry
SELECT w.name, w.worry, w.since, w.waiting FROM (
    -- Of runs that stand in the line of another limit, a FAIR one, the first 20,000 are looked at.
    SELECT l.name, 'ZERO' AS worry, NULL::timestamptz AS since, (
        SELECT count(*) FROM (SELECT FROM rowrun.limit_waits() w
                              CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.limit_wait = w.limit_key AND r.status IN ('PENDING', 'AVAILABLE') LIMIT 1000) r
                              WHERE starts_with(w.limit_key, l.id || ':') LIMIT 1000) x) + (
        SELECT count(*) FROM (SELECT FROM (
            SELECT r.limit_keys FROM rowrun.limit_waits() w
            CROSS JOIN LATERAL (SELECT r.limit_keys FROM rowrun.task_run r WHERE r.limit_wait = w.limit_key AND r.status IN ('PENDING', 'AVAILABLE') LIMIT 1000) r
            WHERE NOT starts_with(w.limit_key, l.id || ':') LIMIT 20000) r
            WHERE EXISTS (SELECT FROM unnest(r.limit_keys) u(limit_key) WHERE starts_with(u.limit_key, l.id || ':')) LIMIT 1000) x) AS waiting
    FROM rowrun.concurrency_limit l WHERE l.max_running = 0
    UNION ALL
    SELECT l.name, 'PAUSE_OVER', l.not_before, NULL FROM rowrun.concurrency_limit l WHERE l.not_before < clock_timestamp() - interval '1 day'
    UNION ALL
    SELECT l.name, 'UNUSED', l.created_at, NULL FROM rowrun.concurrency_limit l
    WHERE l.created_at < clock_timestamp() - interval '1 day'
      AND (l.type IS NOT NULL OR l.queue IS NOT NULL)
      AND NOT EXISTS (SELECT FROM rowrun.task k WHERE (l.type IS NULL OR k.type = l.type) AND (l.queue IS NULL OR k.queue = l.queue))
    UNION ALL
    SELECT l.name, 'HELD', max(b.held_until), NULL FROM rowrun.limit_bucket b
    JOIN rowrun.concurrency_limit l ON l.id = rowrun.limit_id_of(b.limit_key)
    WHERE b.held_until > clock_timestamp() GROUP BY l.name
) w ORDER BY w.name, w.worry LIMIT 100
