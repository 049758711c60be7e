-- worker_release
-- A worker gives runs back, for those who ask over HTTP.
-- $1 uuid[]: claims
-- Returns: a verdict on each, as a JSON array
SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') FROM rowrun.release_runs($1) r
