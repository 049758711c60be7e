-- remove_orphaned_deliveries
-- Removes deliveries without a webhook: an event was being decided while its webhook was deleted.
-- $1 float8: how many seconds ago they were decided
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.webhook_delivery d
WHERE d.status = 'PENDING' AND d.created_at < (SELECT clock_timestamp() - make_interval(secs => $1))
  AND NOT EXISTS (SELECT FROM rowrun.webhook w WHERE w.id = d.webhook_id)
