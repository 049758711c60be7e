-- The claim that a worker is given for a run: derived from its request, so that the same request has the same claims.
CREATE OR REPLACE FUNCTION rowrun.worker_claim_of(request_id uuid, run_id bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN encode(substring(sha256(uuid_send(request_id) || int8send(run_id)) FROM 1 FOR 16), 'hex')::uuid;
COMMENT ON FUNCTION rowrun.worker_claim_of(uuid, bigint) IS 'Internal: the claim of a request for a run.';

-- The row of a worker, which is a replica to gates, waiting() and whoever looks: a worker that was silent for longer than its
-- longest lease comes back under another id. Types only come in addition: programs under one name may ask for different ones.
-- The row is written once in a tenth of its lease, so that it is not what claims wait for.
-- NULL: the worker is paused or drains.
CREATE OR REPLACE FUNCTION rowrun.register_worker(worker_name text, types text[], most integer, lease interval) RETURNS text LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    known record;
    made text;
BEGIN
    LOOP
        SELECT h.replica_id, h.state = 'ACTIVE' AND h.paused_at IS NULL AS claims, h.last_heartbeat + h.lease < t AS gone,
               h.types @> register_worker.types AND h.lease >= register_worker.lease AND h.concurrency >= most
                   AND h.last_heartbeat > t - h.lease / 10 AS fresh
        INTO known FROM replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = worker_name;
        IF FOUND AND known.gone THEN
            UPDATE replica_heartbeat h SET state = 'DEAD'
            WHERE h.replica_id = known.replica_id AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease < t;
            CONTINUE;
        ELSIF FOUND THEN
            IF NOT known.fresh THEN
                UPDATE replica_heartbeat h
                SET last_heartbeat = greatest(h.last_heartbeat, t), lease = greatest(h.lease, register_worker.lease), concurrency = greatest(h.concurrency, most),
                    types = CASE WHEN h.types @> register_worker.types THEN h.types
                                 ELSE ARRAY(SELECT DISTINCT x FROM unnest(h.types || register_worker.types) x ORDER BY x) END
                WHERE h.replica_id = known.replica_id AND h.state <> 'DEAD';
            END IF;
            RETURN CASE WHEN known.claims THEN known.replica_id END;
        END IF;
        INSERT INTO replica_heartbeat (replica_id, last_heartbeat, name, lease, queues, types, concurrency, worker)
        VALUES ('worker-' || gen_random_uuid(), t, worker_name, register_worker.lease, '{}', register_worker.types, most, true)
        ON CONFLICT (name) WHERE worker AND state <> 'DEAD' DO NOTHING RETURNING replica_id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.register_worker(text, text[], integer, interval) IS 'Internal: the id of a worker that may claim.';

-- Refuses what a worker may not ask for.
CREATE OR REPLACE FUNCTION rowrun.check_worker(worker text, types text[], most integer, lease interval) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    builtin text;
BEGIN
    IF coalesce(worker, '') = '' OR octet_length(worker) > 200 THEN
        RAISE EXCEPTION 'a worker has a name of 1 to 200 bytes' USING ERRCODE = 'RR003', HINT = 'Give what the operator should see, such as reports-1.';
    END IF;
    IF coalesce(cardinality(types), 0) NOT BETWEEN 1 AND 100 OR array_position(types, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'a worker claims 1 to 100 types, none of them NULL' USING ERRCODE = 'RR003', HINT = 'ARRAY[''REPORT'']';
    END IF;
    SELECT y INTO builtin FROM unnest(types) y WHERE y IN ('NOOP', 'SQL', 'DATABASE_MIGRATE', 'HTTP', 'COMMAND') LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'type % is run by the sidecar, not by workers', builtin USING ERRCODE = 'RR003', HINT = 'Give the task a type of your own.';
    END IF;
    IF coalesce(most, 0) NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'a worker claims 1 to 1000 runs at once, not %', coalesce(most::text, 'NULL') USING ERRCODE = 'RR003', HINT = 'As many as it has free hands.';
    END IF;
    IF lease IS NULL OR lease < interval '1 s' OR lease > interval '1 day' THEN
        RAISE EXCEPTION 'a lease lasts 1 s to 1 day, not %', coalesce(lease::text, 'NULL')
            USING ERRCODE = 'RR003', HINT = 'About three times as long as the worker''s heartbeats are apart.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_worker(text, text[], integer, interval) IS 'Internal: refuses what a worker may not ask for.';
