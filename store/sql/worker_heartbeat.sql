-- worker_heartbeat
-- A worker's heartbeat, for those who ask over HTTP.
-- $1 text: the worker's name
-- $2 uuid[]: claims
-- Returns: a verdict on each, as a JSON array
SELECT coalesce(jsonb_agg(to_jsonb(h)), '[]') FROM rowrun.heartbeat_worker($1, $2) h
