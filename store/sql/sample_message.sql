-- sample_message
-- A message of type TEST in the format of a webhook.
-- $1 bigint: webhook
-- $2 text: id of the message
-- $3 text: URL of the dashboard; '': none
-- Returns: at most one row, the body and what it is
SELECT rowrun.webhook_body(w.format, $2, format('{"type":"TEST","timestamp":%s,"data":{"project":%s,"message":"Test message from Rowrun"}}',
           to_json(to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), to_json(w.project)),
           coalesce(nullif($3, ''), 'urn:uuid:' || (SELECT d.id FROM rowrun.deployment d))),
       rowrun.webhook_content_type(w.format)
FROM rowrun.webhook w WHERE w.id = $1
