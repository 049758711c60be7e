-- health_gauges
-- How the deployment stands: the row of the view rowrun.health.
-- Returns: live replicas, live admins; for how many seconds the oldest AVAILABLE run waits; overdue runs (up to 30,000), for how many seconds
--   the oldest is; stale runs; types without a replica, their runs; webhooks that fail; for each reason of store.DeliveryReasons
--   how many seconds its oldest delivery waits (0: none); schedules that missed, stopped ones; the notification queue (0 to 1);
--   the slot's lag in bytes
SELECT h.live_replicas, h.live_admins, coalesce(extract(epoch FROM h.oldest_available), 0)::float8,
       h.overdue_pending, coalesce(extract(epoch FROM h.overdue_for), 0)::float8, h.stale_runs, h.orphan_types, h.orphan_runs,
       h.failing_webhooks,
       ARRAY[coalesce(extract(epoch FROM h.delivery_disabled_for), 0), coalesce(extract(epoch FROM h.delivery_due_for), 0),
             coalesce(extract(epoch FROM h.delivery_refused_for), 0), coalesce(extract(epoch FROM h.delivery_unready_for), 0)]::float8[],
       h.missed_schedules, h.stopped_schedules, h.notify_queue, h.slot_lag
FROM rowrun.health h
