-- unfinished_acts
-- Acts that somebody has to go on with.
-- Returns: up to 100 ids
SELECT a.id FROM rowrun.act a WHERE a.state = 'RUNNING' AND a.kind <> 'webhook' ORDER BY a.id LIMIT 100
