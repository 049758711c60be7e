-- make_webhook
-- Makes a webhook, unless there is one of that project and name.
-- $1 text: project
-- $2 text: name
-- $3 text: URL, or what names one
-- $4 text: what names the secret; '': unsigned
-- Returns: no row
INSERT INTO rowrun.webhook (project, name, url, secret_ref)
SELECT $1, $2, $3, nullif($4, '') WHERE NOT EXISTS (SELECT FROM rowrun.webhook WHERE project = $1 AND name = $2)
