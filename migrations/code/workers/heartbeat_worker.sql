-- Prolongs claims, each by its own lease, and says of each: OK, CANCELED (stop: a cancel was asked for, or the run was ended so),
-- DRAIN (go on, but claim nothing more: an operator has paused the worker), LOST (stop: it is over, and nothing of it will be
-- recorded). A claim whose lease is over but that nobody has ended yet is prolonged.
CREATE OR REPLACE FUNCTION rowrun.heartbeat_worker(worker text, claims uuid[]) RETURNS TABLE (claim uuid, verdict text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t timestamptz;
    rests boolean;
BEGIN
    PERFORM check_isolation();
    IF cardinality(claims) > 10000 THEN
        RAISE EXCEPTION 'a heartbeat names at most 10000 claims' USING ERRCODE = 'RR003', HINT = 'Send several.';
    END IF;
    -- Where somebody's transaction holds the row, that one is just writing it.
    UPDATE replica_heartbeat h SET last_heartbeat = clock_timestamp(), running = coalesce(cardinality(claims), 0),
        types = CASE WHEN h.state = 'ACTIVE' AND h.paused_at IS NULL
                     THEN ARRAY(SELECT x FROM unnest(h.types) x WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = x AND d.draining) ORDER BY x)
                     ELSE '{}' END
    WHERE h.replica_id = (
        SELECT o.replica_id FROM replica_heartbeat o
        WHERE o.worker AND o.state <> 'DEAD' AND o.name = heartbeat_worker.worker AND o.last_heartbeat + o.lease > clock_timestamp()
          AND (o.last_heartbeat < clock_timestamp() - o.lease / 10 OR o.running <> coalesce(cardinality(claims), 0))
        FOR NO KEY UPDATE SKIP LOCKED);
    SELECT h.state <> 'ACTIVE' OR h.paused_at IS NOT NULL INTO rests
    FROM replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = heartbeat_worker.worker;
    -- Whoever is just ending one of them holds it: what is seen behind the lock is how it was left.
    PERFORM FROM worker_claim c WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(claims) x)) ORDER BY c.run_id FOR NO KEY UPDATE;
    t := clock_timestamp();
    UPDATE worker_claim c SET until = t + c.lease FROM task_run r
    WHERE c.claim_hash = ANY (ARRAY(SELECT sha256(uuid_send(x)) FROM unnest(claims) x))
      AND r.id = c.run_id AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = c.claim_hash;
    RETURN QUERY
    SELECT i.claim, CASE WHEN r.status = 'RUNNING' AND r.cancel_requested_at IS NULL THEN CASE WHEN rests THEN 'DRAIN' ELSE 'OK' END
                         WHEN r.status IN ('RUNNING', 'CANCELED') THEN 'CANCELED' ELSE 'LOST' END
    FROM unnest(claims) WITH ORDINALITY i(claim, n)
    LEFT JOIN worker_claim c ON c.claim_hash = sha256(uuid_send(i.claim))
    LEFT JOIN task_run r ON r.id = c.run_id AND r.claim_hash = c.claim_hash
    ORDER BY i.n;
END $$;
COMMENT ON FUNCTION rowrun.heartbeat_worker(text, uuid[]) IS 'Prolongs a worker''s claims; of each OK, CANCELED, DRAIN or LOST.';
