-- The claim that a worker is given for a run: derived from its request, so that the same request has the same claims.
CREATE OR REPLACE FUNCTION rowrun.worker_claim_of(request_id uuid, run_id bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN encode(substring(sha256(uuid_send(request_id) || int8send(run_id)) FROM 1 FOR 16), 'hex')::uuid;
COMMENT ON FUNCTION rowrun.worker_claim_of(uuid, bigint) IS 'Internal: the claim of a request for a run.';

-- The row of a worker, which is a replica to gates, waiting() and whoever looks: a worker that was silent for longer than its
-- longest lease comes back under another id. Types come in addition, as programs under one name may ask for different ones; a
-- type that drains is withdrawn, and all are while the worker is paused, as replicas do it.
-- The row is written once in a tenth of its lease, so that it is not what claims wait for; and where somebody's transaction
-- holds it, that one is just writing it.
-- NULL: the worker is paused or drains.
CREATE OR REPLACE FUNCTION rowrun.register_worker(worker_name text, types text[], most integer, lease interval) RETURNS text LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    known record;
    wanted text[];
    made text;
BEGIN
    LOOP
        SELECT h.replica_id, h.types, h.state = 'ACTIVE' AND h.paused_at IS NULL AS claims, h.last_heartbeat + h.lease < t AS gone,
               h.lease >= register_worker.lease AND h.concurrency >= most AND h.last_heartbeat > t - h.lease / 10 AS fresh
        INTO known FROM replica_heartbeat h WHERE h.worker AND h.state <> 'DEAD' AND h.name = worker_name;
        IF known.gone THEN
            PERFORM FROM replica_heartbeat h WHERE h.replica_id = known.replica_id FOR NO KEY UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                RETURN CASE WHEN known.claims THEN known.replica_id END;
            END IF;
            UPDATE replica_heartbeat h SET state = 'DEAD'
            WHERE h.replica_id = known.replica_id AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease < t;
            CONTINUE;
        END IF;
        wanted := CASE WHEN known.claims IS FALSE THEN '{}'
                       ELSE ARRAY(SELECT DISTINCT x FROM unnest(known.types || register_worker.types) x
                                  WHERE NOT EXISTS (SELECT FROM task_type d WHERE d.type = x AND d.draining) ORDER BY x) END;
        IF cardinality(wanted) > 500 THEN
            RAISE EXCEPTION 'worker % has claimed more than 500 types', worker_name USING ERRCODE = 'RR003', HINT = 'Give programs that run different types names of their own.';
        END IF;
        IF known.fresh AND known.types = wanted THEN
            RETURN CASE WHEN known.claims THEN known.replica_id END;
        END IF;
        IF deployment_elsewhere() THEN
            RAISE EXCEPTION 'this database is a copy of another deployment''s: its runs are run there'
                USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'rowrun migrate deployment new (a copy) or moved (a restore)';
        END IF;
        IF known.replica_id IS NOT NULL THEN
            UPDATE replica_heartbeat h
            SET last_heartbeat = greatest(h.last_heartbeat, t), lease = greatest(h.lease, register_worker.lease),
                concurrency = greatest(h.concurrency, most), types = wanted
            WHERE h.replica_id = (SELECT o.replica_id FROM replica_heartbeat o
                                  WHERE o.replica_id = known.replica_id AND o.state <> 'DEAD' FOR NO KEY UPDATE SKIP LOCKED);
            RETURN CASE WHEN known.claims THEN known.replica_id END;
        END IF;
        INSERT INTO replica_heartbeat (replica_id, last_heartbeat, name, lease, queues, types, concurrency, worker)
        VALUES ('worker-' || gen_random_uuid(), t, worker_name, register_worker.lease, '{}', wanted, most, true)
        ON CONFLICT (name) WHERE worker AND state <> 'DEAD' DO NOTHING RETURNING replica_id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.register_worker(text, text[], integer, interval) IS 'Internal: the id of a worker that may claim.';

-- What is wrong with what a worker asks for, and what to do; NULL: nothing. Inlined where it is called. A request's id is what its
-- claims are derived from: nobody else may be able to guess it, and two that are equal are one request.
CREATE OR REPLACE FUNCTION rowrun.worker_problem(request_id uuid, worker text, types text[], most integer, lease interval) RETURNS text[] LANGUAGE sql STABLE
    RETURN CASE
        WHEN coalesce(request_id, '00000000-0000-0000-0000-000000000000') = '00000000-0000-0000-0000-000000000000'
            THEN ARRAY['a request has an id', 'A random uuid, new for each request and the same when it is sent again: gen_random_uuid().']
        WHEN coalesce(worker, '') = '' OR octet_length(worker) > 200
            THEN ARRAY['a worker has a name of 1 to 200 bytes', 'Give what the operator should see, such as reports-1.']
        WHEN coalesce(cardinality(types), 0) < 1 OR cardinality(types) > 100 OR array_position(types, NULL) IS NOT NULL OR octet_length(array_to_string(types, '')) > 10000
            THEN ARRAY['a worker claims 1 to 100 types, none of them NULL', 'ARRAY[''REPORT'']']
        WHEN types && '{NOOP,SQL,DATABASE_MIGRATE,HTTP,COMMAND}'
            THEN ARRAY['the types NOOP, SQL, DATABASE_MIGRATE, HTTP and COMMAND are run by the sidecar, not by workers', 'Give the task a type of your own.']
        WHEN coalesce(most, 0) NOT BETWEEN 1 AND 1000
            THEN ARRAY['a worker claims 1 to 1000 runs at once, not ' || coalesce(most::text, 'NULL'), 'As many as it has free hands.']
        WHEN (rowrun.is_duration(lease) AND lease BETWEEN interval '1 s' AND interval '1 day') IS NOT TRUE
            THEN ARRAY['a lease lasts 1 s to 1 day, not ' || coalesce(lease::text, 'NULL'), 'About three times as long as the worker''s heartbeats are apart.']
    END;
COMMENT ON FUNCTION rowrun.worker_problem(uuid, text, text[], integer, interval) IS 'Internal: what is wrong with what a worker asks for.';

-- The advisory lock by which equal requests wait for each other. pg_locks shows it to everybody, and anybody may take it: it says
-- when to ask, and no more. That one request isn't two is held by the index of worker_request.
CREATE OR REPLACE FUNCTION rowrun.request_key(request_hash bytea) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN ('x' || encode(substring(request_hash FROM 1 FOR 8), 'hex'))::bit(64)::bigint;
COMMENT ON FUNCTION rowrun.request_key(bytea) IS 'Internal: the advisory lock of a worker''s request.';

-- Waits for an equal request that is being answered, where there is one. What a stranger to workers holds is no request, and isn't
-- waited for. Nor is anything for longer than lock_timeout says: who is told so sends the request again.
CREATE OR REPLACE FUNCTION rowrun.await_equal_request(request_hash bytea) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp
    SET lock_timeout = '5s'
AS $$
DECLARE
    key bigint := request_key(request_hash);
BEGIN
    IF EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
               WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                 AND (l.classid::bigint << 32 | l.objid::bigint) = key
                 AND (pg_has_role(a.usesysid, 'rowrun_worker', 'MEMBER') OR pg_has_role(a.usesysid, 'rowrun_replica', 'MEMBER')))
    THEN
        PERFORM pg_advisory_xact_lock(key);
    END IF;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'an equal request is still being answered' USING ERRCODE = 'serialization_failure',
        HINT = 'Send the same request again in a moment; who waits for whom is in pg_locks.';
END $$;
COMMENT ON FUNCTION rowrun.await_equal_request(bytea) IS 'Internal: waits for an equal request of a worker.';
