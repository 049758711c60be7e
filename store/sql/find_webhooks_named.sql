-- find_webhooks_named
-- The newest webhooks that have a name.
-- $1 text: name
-- $2 bigint: most of them
-- Returns: id, NULL
SELECT id, NULL::bigint FROM rowrun.webhook WHERE name = $1 AND name <> '' ORDER BY id DESC LIMIT $2
