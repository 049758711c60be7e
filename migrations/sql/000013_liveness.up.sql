-- What becomes of runs that were lost or failed, what nobody runs, how a type of task goes, and inserts in batches.

-- What the stream says besides transitions: the replica that writes it prints these rows and marks them.
CREATE TABLE rowrun.stream_note (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    level      text NOT NULL DEFAULT 'warn' CHECK (level IN ('info', 'warn')),
    event      text NOT NULL,
    message    text NOT NULL,
    detail     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(detail) = 'object'),
    printed_at timestamptz
);
CREATE INDEX stream_note_unprinted ON rowrun.stream_note (id) WHERE printed_at IS NULL;
COMMENT ON TABLE rowrun.stream_note IS 'What the stream says besides transitions; kept for a week.';
COMMENT ON COLUMN rowrun.stream_note.id IS 'Key.';
COMMENT ON COLUMN rowrun.stream_note.created_at IS 'When it happened.';
COMMENT ON COLUMN rowrun.stream_note.level IS 'info or warn.';
COMMENT ON COLUMN rowrun.stream_note.event IS 'What happened, as the line''s event: task_run.stalled, task_type.orphaned, ...';
COMMENT ON COLUMN rowrun.stream_note.message IS 'The line''s message.';
COMMENT ON COLUMN rowrun.stream_note.detail IS 'The line''s other members.';
COMMENT ON COLUMN rowrun.stream_note.printed_at IS 'When the replica that writes the stream wrote it.';

CREATE FUNCTION rowrun.handler_task(named text) RETURNS bigint LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT h.id FROM (
        SELECT k.id, 0 AS place FROM rowrun.task k WHERE k.name = named AND k.name <> '' AND k.plan_id IS NULL
        UNION ALL
        SELECT k.id, 1 FROM rowrun.task k
        WHERE k.id = CASE WHEN named ~ '^[0-9]{1,18}$' THEN named::bigint END AND k.plan_id IS NULL) h
    ORDER BY h.place LIMIT 1;
END;
COMMENT ON FUNCTION rowrun.handler_task(text) IS 'Internal: the task that on_failure_task names, by name or id.';

CREATE FUNCTION rowrun.task_recovery_check() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    -- A function would run in a session of the sidecar's: a deferred trigger of its author's fires at the COMMIT, with
    -- the sidecar's rights, whatever role the function itself ran under.
    IF NEW.on_stale ILIKE 'FUNCTION%' THEN
        RAISE EXCEPTION 'on_stale is FAIL, RETRY or CANCEL, not "%": a function is no longer called for lost runs', left(NEW.on_stale, 200)
            USING ERRCODE = 'RR003', HINT = 'Name a task in on_failure_task: it is run with the failed run as its input, also when that was lost (code STALE, LOST_CONTACT or DRAINED).';
    END IF;
    IF NEW.on_failure_task IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.on_failure_task IS DISTINCT FROM OLD.on_failure_task)
       AND rowrun.handler_task(NEW.on_failure_task) IS NULL
    THEN
        RAISE EXCEPTION 'on_failure_task: there is no task "%" without a plan', NEW.on_failure_task
            USING ERRCODE = 'RR003', HINT = 'Give the name or the id of a task without a plan; define it first.';
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION rowrun.task_recovery_check() IS 'Trigger: on_stale names no function, and the task that on_failure_task names exists.';
CREATE TRIGGER task_recovery_check BEFORE INSERT OR UPDATE OF on_stale, on_failure_task ON rowrun.task
    FOR EACH ROW WHEN (NEW.on_stale ILIKE 'FUNCTION%' OR NEW.on_failure_task IS NOT NULL)
    EXECUTE FUNCTION rowrun.task_recovery_check();

-- Called by end_runs, only where a task of these runs names a handler. What goes wrong here may cost the
-- handler's run, never the end; but a lock that is waited for too long is for the caller to try again.
CREATE FUNCTION rowrun.handle_ended(ended bigint[]) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    failed record;
    handler bigint;
    input   jsonb;
BEGIN
    FOR failed IN
        SELECT r.id, r.root_id, r.task_id, k.name, r.type, r.attempt, r.input, r.result, k.on_failure_task
        FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
        WHERE r.id = ANY (ended) AND r.status = 'FAILED' AND r.retry_run_id IS NULL AND k.on_failure_task IS NOT NULL
          -- A handler that fails has none of its own, nor has a retry of it.
          AND (SELECT h.handles FROM rowrun.task_run h WHERE h.id = r.root_id) IS NULL
        ORDER BY r.id
    LOOP
        BEGIN
            handler := rowrun.handler_task(failed.on_failure_task);
            IF handler IS NULL THEN
                RAISE EXCEPTION 'the task is gone';
            END IF;
            input := jsonb_build_object('run_id', failed.id, 'root_id', failed.root_id, 'task_id', failed.task_id, 'task', failed.name,
                'type', failed.type, 'attempt', failed.attempt, 'code', failed.result -> 'code');
            input := input || CASE WHEN pg_column_size(failed.input) + pg_column_size(failed.result) < 2000
                                        OR octet_length(failed.input::text) + octet_length(failed.result::text) <= 1000000
                THEN jsonb_build_object('input', failed.input, 'result', failed.result)
                ELSE jsonb_build_object('truncated', true, 'result', jsonb_build_object('detail', left(failed.result ->> 'detail', 4096))) END;
            -- Once for each failed run: in the transaction that takes its last edge, which is taken once.
            INSERT INTO rowrun.task_run (id, task_id, input, handles)
            VALUES (rowrun.next_run_id(), handler, jsonb_build_object('failed_run', input), failed.id);
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
                RAISE;
            WHEN OTHERS THEN
                INSERT INTO rowrun.stream_note (event, message, detail)
                VALUES ('task_run.handler_missing', 'the task that on_failure_task names could not be run',
                    jsonb_build_object('run_id', failed.id, 'task_id', failed.task_id, 'on_failure_task', failed.on_failure_task, 'reason', SQLERRM));
        END;
    END LOOP;
END $$;
COMMENT ON FUNCTION rowrun.handle_ended(bigint[]) IS 'Internal: the runs of on_failure_task, when runs have failed for good.';

-- How a type of task goes: nothing new of it is claimed, or another type's executor runs it. Replicas read this at
-- each sweep and announce what they run in replica_heartbeat.types.
CREATE TABLE rowrun.task_type (
    type       text PRIMARY KEY CHECK (type <> '' AND octet_length(type) <= 100),
    draining   boolean NOT NULL DEFAULT false,
    alias_of   text CHECK (alias_of <> '' AND octet_length(alias_of) <= 100 AND alias_of <> type),
    mapping    jsonb CHECK (jsonb_typeof(mapping) = 'object'),
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- Those who may write tasks of these types are fewer than those who may write tasks of others.
    CONSTRAINT task_type_alias_harmless CHECK (alias_of IS NULL
        OR NOT ARRAY[type, alias_of] && '{SQL,DATABASE_MIGRATE,COMMAND}'),
    CONSTRAINT task_type_mapping_of_alias CHECK (mapping IS NULL OR alias_of IS NOT NULL)
);
COMMENT ON TABLE rowrun.task_type IS 'Types of tasks that are draining or run by another type''s executor; rowrun type drain, alias.';
COMMENT ON COLUMN rowrun.task_type.type IS 'Key: the type of tasks and runs.';
COMMENT ON COLUMN rowrun.task_type.draining IS 'While true no replica claims runs of this type.';
COMMENT ON COLUMN rowrun.task_type.alias_of IS 'Replicas that run this type run also those of type; not for SQL, DATABASE_MIGRATE and COMMAND.';
COMMENT ON COLUMN rowrun.task_type.mapping IS 'Top-level keys of the payload: {"old": "new"} renames one, {"old": null} leaves it out.';
COMMENT ON COLUMN rowrun.task_type.changed_at IS 'When it last changed.';

CREATE VIEW rowrun.orphan_task_run WITH (security_invoker = true) AS
SELECT o.queue, o.type, o.database_id, o.command, o.pending, o.available, o.oldest
FROM (
    SELECT r.queue, r.type, CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE') THEN r.database_id END AS database_id,
           CASE WHEN r.type = 'COMMAND' AND jsonb_typeof(k.payload -> 'command') = 'string' THEN k.payload ->> 'command' END AS command,
           count(*) FILTER (WHERE r.status = 'PENDING') AS pending, count(*) FILTER (WHERE r.status = 'AVAILABLE') AS available,
           min(r.created_at) AS oldest
    FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
    WHERE r.status IN ('PENDING', 'AVAILABLE')
    GROUP BY 1, 2, 3, 4
) o
WHERE NOT EXISTS (
    SELECT FROM rowrun.replica_heartbeat h
    WHERE rowrun.takes(h, clock_timestamp(), o.queue, o.type, o.database_id, jsonb_build_object('command', o.command)));
COMMENT ON VIEW rowrun.orphan_task_run IS 'Runs that wait and that no live replica could run: by queue, type, target database and command. Reads every run that waits.';

ALTER TABLE rowrun.deployment ADD COLUMN orphans_looked_at timestamptz;
COMMENT ON COLUMN rowrun.deployment.orphans_looked_at IS 'When a replica last looked for orphans.';
CREATE TABLE rowrun.orphan_type (
    type         text PRIMARY KEY,
    first_seen   timestamptz NOT NULL DEFAULT clock_timestamp(),
    announced_at timestamptz,
    pending      bigint NOT NULL,
    available    bigint NOT NULL
);
COMMENT ON TABLE rowrun.orphan_type IS 'Types of orphan_task_run as the last look found them, counted as far as that went.';
COMMENT ON COLUMN rowrun.orphan_type.type IS 'Key.';
COMMENT ON COLUMN rowrun.orphan_type.first_seen IS 'Since when.';
COMMENT ON COLUMN rowrun.orphan_type.announced_at IS 'When the stream last said so.';
COMMENT ON COLUMN rowrun.orphan_type.pending IS 'How many are PENDING.';
COMMENT ON COLUMN rowrun.orphan_type.available IS 'How many are AVAILABLE.';

-- Looks for orphans and has the stream say what changed, and once a day what is still so. A type must have been one for
-- that long: between two replicas of a rolling restart nobody runs it for a moment. However many replicas ask, it
-- looks once in "every". What is read is bounded: of each queue and type 500 AVAILABLE runs, and of PENDING ones 2,000
-- that wait for a replica and 2,000 that are due first.
CREATE FUNCTION rowrun.note_orphans(patience interval, every interval) RETURNS integer LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    t     timestamptz := clock_timestamp();
    noted integer;
BEGIN
    PERFORM FROM rowrun.deployment FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0; -- another replica is at it
    END IF;
    UPDATE rowrun.deployment d SET orphans_looked_at = t WHERE (d.orphans_looked_at > t - every) IS NOT TRUE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH RECURSIVE pair AS (
        (SELECT r.queue, r.type FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' ORDER BY r.queue, r.type LIMIT 1)
        UNION ALL
        SELECT n.queue, n.type FROM pair p CROSS JOIN LATERAL (
            SELECT r.queue, r.type FROM rowrun.task_run r
            WHERE r.status = 'AVAILABLE' AND (r.queue, r.type) > (p.queue, p.type) ORDER BY r.queue, r.type LIMIT 1) n
    ), waits AS MATERIALIZED (
        SELECT w.status, w.queue, w.type, w.database_id, w.task_id
        FROM pair p CROSS JOIN LATERAL (
            SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
            WHERE r.status = 'AVAILABLE' AND r.queue = p.queue AND r.type = p.type LIMIT 500) w
        UNION ALL
        (SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
         WHERE r.status = 'PENDING' AND r.hold = 'REPLICA' LIMIT 2000)
        UNION ALL
        (SELECT r.status, r.queue, r.type, r.database_id, r.task_id FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 2000)
    ), kind AS (
        SELECT w.queue, w.type, CASE WHEN w.type IN ('SQL', 'DATABASE_MIGRATE') THEN w.database_id END AS database_id,
               CASE WHEN w.type = 'COMMAND' AND jsonb_typeof(k.payload -> 'command') = 'string' THEN k.payload ->> 'command' END AS command,
               count(*) FILTER (WHERE w.status = 'PENDING') AS pending, count(*) FILTER (WHERE w.status = 'AVAILABLE') AS available
        FROM waits w JOIN rowrun.task k ON k.id = w.task_id
        GROUP BY 1, 2, 3, 4
    ), orphan AS MATERIALIZED (
        SELECT o.type, sum(o.pending)::bigint AS pending, sum(o.available)::bigint AS available FROM kind o
        WHERE NOT EXISTS (
            SELECT FROM rowrun.replica_heartbeat h
            WHERE rowrun.takes(h, t, o.queue, o.type, o.database_id, jsonb_build_object('command', o.command)))
        GROUP BY o.type
    ), seen AS (
        INSERT INTO rowrun.orphan_type AS x (type, first_seen, pending, available)
        SELECT o.type, t, o.pending, o.available FROM orphan o
        ON CONFLICT (type) DO UPDATE SET pending = excluded.pending, available = excluded.available,
            announced_at = CASE WHEN x.first_seen <= t - patience AND coalesce(x.announced_at < t - interval '1 day', true)
                                THEN t ELSE x.announced_at END
        RETURNING x.type, x.announced_at, x.first_seen, x.pending, x.available
    ), gone AS (
        DELETE FROM rowrun.orphan_type x WHERE NOT EXISTS (SELECT FROM orphan o WHERE o.type = x.type)
        RETURNING x.type, x.announced_at
    ), said AS (
        INSERT INTO rowrun.stream_note (level, event, message, detail)
        SELECT 'warn', 'task_type.orphaned', 'runs wait that no live replica can run',
               jsonb_build_object('type', s.type, 'pending', s.pending, 'available', s.available, 'since', s.first_seen)
        FROM seen s WHERE s.announced_at = t
        UNION ALL
        SELECT 'info', 'task_type.served', 'no run of this type waits without a replica any more', jsonb_build_object('type', g.type)
        FROM gone g WHERE g.announced_at IS NOT NULL
        RETURNING 1
    )
    SELECT count(*) INTO noted FROM said;
    RETURN noted;
END $$;
COMMENT ON FUNCTION rowrun.note_orphans(interval, interval) IS 'Internal: looks for runs that no live replica could run, and has the stream say what changed.';

-- Cancels runs of a type that wait, in the order of their ids, at most "most" of them after a given one: a transaction
-- per call keeps locks short.
CREATE FUNCTION rowrun.purge_type(type text, older_than interval DEFAULT '0', after_id bigint DEFAULT 0, most integer DEFAULT 500)
    RETURNS TABLE (last_id bigint, found bigint, canceled bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM check_isolation();
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT r.id FROM task_run r
        WHERE r.type = purge_type.type AND r.status IN ('PENDING', 'AVAILABLE') AND r.id > purge_type.after_id
          AND r.created_at <= clock_timestamp() - purge_type.older_than
        ORDER BY r.id LIMIT purge_type.most)
    SELECT max(p.id), count(*), count(*) FILTER (WHERE cancel_run(p.id, 'type ' || purge_type.type || ' was purged') = 'CANCELED') FROM picked p;
END $$;
COMMENT ON FUNCTION rowrun.purge_type(text, interval, bigint, integer) IS 'Cancels PENDING and AVAILABLE runs of a type; removes no row.';

-- Many runs of one task. The array's elements are their inputs; keys, where given, are their idempotency_keys.
CREATE FUNCTION rowrun.insert_many(task bigint, inputs jsonb, idempotency_keys text[], on_conflict text, run_at timestamptz, priority integer)
    RETURNS SETOF bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF jsonb_typeof(inputs) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'inputs is an array of JSON objects' USING ERRCODE = 'RR003', HINT = 'For one run use rowrun.run_task.';
    ELSIF cardinality(idempotency_keys) <> jsonb_array_length(inputs) THEN
        RAISE EXCEPTION 'there are % inputs and % idempotency_keys', jsonb_array_length(inputs), cardinality(idempotency_keys)
            USING ERRCODE = 'RR003', HINT = 'One key for each input; NULL for none.';
    ELSIF on_conflict = 'SKIP' THEN
        RETURN QUERY
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        SELECT insert_many.task, e.input, insert_many.run_at, insert_many.priority, idempotency_keys[e.n]
        FROM jsonb_array_elements(inputs) WITH ORDINALITY AS e(input, n) ORDER BY e.n
        ON CONFLICT (task_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
        RETURNING r.id;
    ELSIF on_conflict = 'FAIL' THEN
        RETURN QUERY
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        SELECT insert_many.task, e.input, insert_many.run_at, insert_many.priority, idempotency_keys[e.n]
        FROM jsonb_array_elements(inputs) WITH ORDINALITY AS e(input, n) ORDER BY e.n
        RETURNING r.id;
    ELSE
        RAISE EXCEPTION 'on_conflict is FAIL or SKIP, not %', coalesce(on_conflict, 'NULL')
            USING ERRCODE = 'RR003', HINT = 'FAIL: all or nothing. SKIP: runs whose key exists are left out.';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.insert_many(bigint, jsonb, text[], text, timestamptz, integer) IS 'Internal: the one text of enqueue_many.';

CREATE FUNCTION rowrun.task_named(task text) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    found_id bigint;
BEGIN
    SELECT k.id INTO found_id FROM rowrun.task k WHERE k.name = task_named.task AND k.name <> '' AND k.plan_id IS NULL;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no task named "%"', task_named.task
            USING ERRCODE = 'no_data_found', HINT = 'Define it: SELECT rowrun.define_task(name, type, payload).';
    END IF;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION rowrun.task_named(text) IS 'Internal: the task without a plan of this name; an error where there is none.';

-- A task by id or by name; inputs as jsonb, as jsonb[], and as text, which is what a literal without a type becomes.
DO $do$
DECLARE
    task   record;
    inputs record;
BEGIN
    FOR task IN SELECT * FROM (VALUES ('bigint', 'task'), ('text', 'rowrun.task_named(task)')) v(type, expression) LOOP
        FOR inputs IN SELECT * FROM (VALUES ('jsonb', 'inputs'), ('jsonb[]', 'to_jsonb(inputs)'), ('text', 'inputs::jsonb')) v(type, expression) LOOP
            EXECUTE format('CREATE FUNCTION rowrun.enqueue_many(task %s, inputs %s, idempotency_keys text[] DEFAULT NULL, '
                'on_conflict text DEFAULT ''FAIL'', run_at timestamptz DEFAULT now(), priority integer DEFAULT NULL) RETURNS SETOF bigint '
                'LANGUAGE sql BEGIN ATOMIC SELECT rowrun.insert_many(%s, %s, idempotency_keys, on_conflict, run_at, priority); END',
                task.type, inputs.type, task.expression, inputs.expression);
            EXECUTE format('COMMENT ON FUNCTION rowrun.enqueue_many(%s, %s, text[], text, timestamptz, integer) IS '
                '''A run for each of these inputs, in one statement: all or nothing, or (on_conflict SKIP) without those whose key exists; the runs made.''',
                task.type, inputs.type);
        END LOOP;
    END LOOP;
END $do$;

CREATE FUNCTION rowrun.replace_run(task bigint, idempotency_key text, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
    old  record;
BEGIN
    IF replace_run.idempotency_key IS NULL THEN
        RAISE EXCEPTION 'replace_run needs an idempotency_key' USING ERRCODE = 'RR003', HINT = 'The key is how it finds the run to replace.';
    END IF;
    FOR i IN 1..10 LOOP
        INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
        VALUES (replace_run.task, replace_run.input, replace_run.run_at, replace_run.priority, replace_run.idempotency_key)
        ON CONFLICT (task_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
        RETURNING r.id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        -- A run that is AVAILABLE was due: it stays where it is, and gets what is to be done.
        UPDATE rowrun.task_run r
        SET input = replace_run.input, priority = replace_run.priority,
            run_at = CASE r.status WHEN 'PENDING' THEN replace_run.run_at ELSE r.run_at END
        WHERE r.task_id = replace_run.task AND r.idempotency_key = replace_run.idempotency_key
          AND (r.status = 'PENDING' OR r.status = 'AVAILABLE' AND coalesce(replace_run.run_at, now()) <= clock_timestamp())
        RETURNING r.id INTO made;
        IF made IS NOT NULL THEN
            RETURN made;
        END IF;
        SELECT r.id, r.status INTO old FROM rowrun.task_run r
        WHERE r.task_id = replace_run.task AND r.idempotency_key = replace_run.idempotency_key;
        IF FOUND AND old.status = 'AVAILABLE' AND replace_run.run_at > clock_timestamp() THEN
            RAISE EXCEPTION 'run % has this key and is AVAILABLE: it can''t be put off any more', old.id
                USING ERRCODE = 'RR004', HINT = 'Cancel it, and use another key; or leave run_at out, and it gets this input.';
        ELSIF FOUND AND old.status NOT IN ('PENDING', 'AVAILABLE') THEN
            RAISE EXCEPTION 'run % has this key and is %: a run is replaced until it is claimed', old.id, old.status
                USING ERRCODE = 'RR004', HINT = 'Use another key, for instance with a counter or a time in it.';
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the run with this key keeps changing' USING ERRCODE = 'serialization_failure', HINT = 'Try again.';
END $$;
COMMENT ON FUNCTION rowrun.replace_run(bigint, text, jsonb, timestamptz, integer) IS 'A run with this key: the one that has it and is not claimed yet gets this input, priority and (PENDING) run_at, otherwise a new one; its id.';
CREATE FUNCTION rowrun.replace_run(task text, idempotency_key text, input jsonb DEFAULT '{}', run_at timestamptz DEFAULT now(),
    priority integer DEFAULT NULL)
    RETURNS bigint LANGUAGE sql
BEGIN ATOMIC
    SELECT rowrun.replace_run(rowrun.task_named(task), idempotency_key, input, run_at, priority);
END;
COMMENT ON FUNCTION rowrun.replace_run(text, text, jsonb, timestamptz, integer) IS 'The same, by the name of a task without a plan.';

INSERT INTO rowrun.migration (version) VALUES (13);
