-- worker_claim
-- A worker's claim, for those who ask over HTTP.
-- $1 uuid: the request
-- $2 text: the worker's name
-- $3 text[]: types
-- $4 integer: how many runs at most
-- $5 interval: the lease; NULL: the default
-- Returns: what was claimed, as a JSON array; whether it was nothing because the worker is paused or drains
SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]'),
       EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = $2 AND (h.state <> 'ACTIVE' OR h.paused_at IS NOT NULL))
FROM rowrun.claim_runs($1, $2, $3, $4, coalesce($5, interval '1 min')) c
