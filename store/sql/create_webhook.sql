-- create_webhook
-- $1 text: project; NULL: the column's default, as for all that follow
-- $2 text: name
-- $3 text: URL, or what names one
-- $4 text: what names the secret; '': unsigned
-- $5 text[]: events
-- $6 text: format
-- $7 boolean: whether it is switched on
-- $8 jsonb: filter; NULL: none
-- Returns: its id
INSERT INTO rowrun.webhook (project, name, url, secret_ref, events, format, enabled, filter)
VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8) RETURNING id
