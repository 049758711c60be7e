-- limit_keys
-- How a limit stands for its keys.
-- $1 text: limit
-- Returns: the keys that runs hold places of or wait for, those with most waiting first, up to 100, as store.LimitKey
WITH l AS MATERIALIZED (
    SELECT c.id FROM rowrun.concurrency_limit c WHERE c.name = $1
), k AS MATERIALIZED (
    SELECT w.limit_key FROM l CROSS JOIN rowrun.limit_waits() w WHERE starts_with(w.limit_key, l.id || ':')
    UNION
    SELECT h.limit_key FROM l CROSS JOIN rowrun.limit_holder h WHERE starts_with(h.limit_key, l.id || ':')
    UNION
    SELECT b.limit_key FROM l CROSS JOIN rowrun.limit_bucket b WHERE starts_with(b.limit_key, l.id || ':')
)
SELECT nullif(substr(k.limit_key, strpos(k.limit_key, ':') + 1), ''), h.taken, w.waiting, CASE WHEN m.rated THEN m.tokens END,
       CASE WHEN m.held_until > clock_timestamp() THEN m.held_until ELSE m.next_token_at END, w.first
FROM k CROSS JOIN LATERAL rowrun.limit_room(k.limit_key, clock_timestamp()) m
CROSS JOIN LATERAL (SELECT count(*) AS taken FROM rowrun.limit_holder h
                    CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.id = h.run_id AND coalesce(r.status, '') IN ('AVAILABLE', 'RUNNING') OFFSET 0) r
                    WHERE h.limit_key = k.limit_key) h
CROSS JOIN LATERAL (SELECT count(*) AS waiting, (array_agg(r.id))[1] AS first
                    FROM (SELECT r.id FROM rowrun.task_run r WHERE r.limit_wait = k.limit_key AND r.status = 'PENDING'
                          ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1000) r) w
ORDER BY w.waiting DESC, h.taken DESC, k.limit_key LIMIT 100
