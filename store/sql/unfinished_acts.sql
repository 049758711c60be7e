-- unfinished_acts
-- Acts that somebody has to go on with, and tests of webhooks that nobody ends any more.
-- Returns: up to 100 ids
SELECT a.id FROM rowrun.act a
WHERE a.state = 'RUNNING' AND (a.kind <> 'webhook' OR a.created_at < clock_timestamp() - interval '1 minute') ORDER BY a.id LIMIT 100
