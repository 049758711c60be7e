-- list_limits
-- Returns: the limits by name, as store.Limit
SELECT l.name, l.type, l.queue, l.key_path, l.max_running, l.rate, extract(epoch FROM l.per)::double precision * 1000, l.burst, l.share, l.weights, l.not_before,
       l.created_at,
       (SELECT count(*) FROM (SELECT FROM rowrun.limit_holder h
                              CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.id = h.run_id AND coalesce(r.status, '') IN ('AVAILABLE', 'RUNNING') OFFSET 0) r
                              WHERE starts_with(h.limit_key, l.id || ':')) x),
       (SELECT count(*) FROM (SELECT FROM rowrun.limit_waits() w
                              CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.limit_wait = w.limit_key AND r.status IN ('PENDING', 'AVAILABLE') LIMIT 1000) r
                              WHERE starts_with(w.limit_key, l.id || ':') LIMIT 1000) x)
FROM rowrun.concurrency_limit l ORDER BY l.name
