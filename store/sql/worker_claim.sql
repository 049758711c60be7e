-- worker_claim
-- A worker's claim, for those who ask over HTTP.
-- $1 uuid: the request
-- $2 text: the worker's name
-- $3 text[]: types
-- $4 integer: how many runs at most
-- $5 interval: the lease; NULL: the default
-- Returns: what was claimed, as a JSON array; whether it was nothing whatever there is: the worker is paused or drains, or the request was
--     answered before, and takes nothing more for as long as it is known (rowrun.claim_runs)
SELECT coalesce(jsonb_agg(to_jsonb(c)), '[]'),
       EXISTS (SELECT FROM rowrun.replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = $2 AND (h.state <> 'ACTIVE' OR h.paused_at IS NOT NULL))
       OR EXISTS (SELECT FROM rowrun.worker_request q WHERE q.request_hash = sha256(uuid_send($1))
                    AND (q.results_hash IS NOT NULL OR q.made_at > clock_timestamp() - interval '40 s'))
FROM rowrun.claim_runs($1, $2, $3, $4, coalesce($5, interval '1 min')) c
