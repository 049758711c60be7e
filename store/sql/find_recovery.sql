-- find_recovery
-- The recovery that is under way.
-- Returns: at most one row: store.Recovery
-- Times that lie beyond a century are not its own.
SELECT r.id, r.last_seen, r.began_at, r.backlog, r.remaining, r.started, r.rate, r.counted_at,
       CASE WHEN r.rate > 0 THEN r.counted_at + make_interval(secs => least(r.remaining / r.rate, 1e8)) END
FROM rowrun.recovery r
WHERE r.ended_at IS NULL AND greatest(r.last_seen, r.began_at, r.counted_at) < now() + interval '1 day'
  AND least(r.last_seen, r.began_at, r.counted_at) > now() - interval '100 years'
