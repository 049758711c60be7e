-- remove_old_deliveries
-- Removes deliveries that were settled long ago, at most 1,000. leased_until of one that was given up says when that was.
-- $1 float8: how many seconds ago
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.webhook_delivery x WHERE x.id = ANY (ARRAY(
    SELECT d.id FROM rowrun.webhook_delivery d
    WHERE d.status <> 'PENDING' AND d.created_at < (SELECT clock_timestamp() - make_interval(secs => $1))
      AND greatest(d.created_at, d.delivered_at, d.next_attempt_at, d.leased_until) < clock_timestamp() - make_interval(secs => $1)
    ORDER BY d.created_at LIMIT 1000))
  -- Once more, of the row as it is when it is locked: it may just have been delivered anew.
  AND x.status <> 'PENDING' AND greatest(x.created_at, x.delivered_at, x.next_attempt_at, x.leased_until) < clock_timestamp() - make_interval(secs => $1)
