-- worker_claim
-- A worker's claim, for those who ask over HTTP.
-- $1 uuid: the request
-- $2 text: the worker's name
-- $3 text[]: types
-- $4 integer: how many runs at most
-- $5 interval: the lease; NULL: the default
-- Returns: what was claimed, as a JSON array
SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]') FROM rowrun.claim_runs($1, $2, $3, $4, coalesce($5, interval '1 min')) c
