-- change_webhook
-- $1 bigint: webhook
-- $2 text: project; NULL: as it is, as for all that follow
-- $3 text: name
-- $4 text: URL, or what names one
-- $5 text: what names the secret; '': unsigned
-- $6 text[]: events
-- $7 text: format
-- $8 boolean: whether it is switched on
-- $9 jsonb: filter; {}: none
-- Returns: no row; it changes one where the webhook is there
UPDATE rowrun.webhook
SET project = coalesce($2, project), name = coalesce($3, name), url = coalesce($4, url),
    secret_ref = CASE WHEN $5::text IS NULL THEN secret_ref ELSE nullif($5, '') END,
    events = coalesce($6, events), format = coalesce($7, format), enabled = coalesce($8, enabled),
    filter = CASE WHEN $9::jsonb IS NULL THEN filter ELSE nullif($9, '{}') END
WHERE id = $1
