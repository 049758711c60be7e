-- What the database refuses, whoever asks, and what it fills in: triggers that look at the new row and at its task,
-- and lock nothing else; the INSERT of a plan's run may leave a mark (rowrun.note_ready). SQLSTATEs: RR001 an edge that the state machine hasn't, RR003 a value that users
-- may not give, RR004 a state in which that can't be done, RR005 a column that is fixed while a run is unfinished,
-- RR006 a row that can't be deleted yet.

-- Who executes a statement decides what is believed: inside of a SECURITY DEFINER function that is its owner, in a
-- statement of a replica the role that the replica signed in with. Settings are anybody's, and decide nothing. (The roles
-- come with a later migration.)
CREATE FUNCTION rowrun.is_owner() RETURNS boolean LANGUAGE sql STABLE
    RETURN pg_has_role(current_user, (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = 'rowrun.task_run'::regclass), 'USAGE');
CREATE FUNCTION rowrun.is_trusted() RETURNS boolean LANGUAGE sql STABLE
    RETURN rowrun.is_owner() OR pg_has_role(current_user, 'rowrun_replica', 'USAGE');
-- Types whose tasks are for authors: their payload is executed on targets or on the sidecar's machine.
CREATE FUNCTION rowrun.is_authors(type text) RETURNS boolean LANGUAGE sql IMMUTABLE
    RETURN type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND');
CREATE FUNCTION rowrun.is_author() RETURNS boolean LANGUAGE sql STABLE
    RETURN rowrun.is_trusted() OR pg_has_role(current_user, 'rowrun_author', 'USAGE');

-- Ids are drawn by the database. One that is ahead of its sequence would fail the INSERT that draws it, years later.
CREATE FUNCTION rowrun.check_id(id bigint, sequence regclass) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (id >= 1 AND id <= pg_sequence_last_value(sequence)) IS NOT TRUE AND NOT is_owner() THEN
        RAISE EXCEPTION 'id % was not drawn from rowrun.%', id, sequence
            USING ERRCODE = 'RR003', HINT = 'Leave id out, or draw it: SELECT nextval(''rowrun.' || sequence || ''').';
    END IF;
END $$;

CREATE FUNCTION rowrun.plan_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.plan_id_seq'));
    PERFORM rowrun.check_id(NEW.id, 'rowrun.plan_id_seq');
    NEW.project := coalesce(NEW.project, 'default');
    NEW.name := coalesce(NEW.name, '');
    NEW.on_failure := coalesce(NEW.on_failure, 'STOP_DATABASE');
    NEW.paused := coalesce(NEW.paused, false);
    NEW.round := 1;
    NEW.announced_round := 0;
    NEW.retry_count := 0;
    NEW.created_at := now();
    RETURN NEW;
END $$;
CREATE TRIGGER plan_fill BEFORE INSERT ON rowrun.plan FOR EACH ROW EXECUTE FUNCTION rowrun.plan_fill();

CREATE FUNCTION rowrun.task_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval('rowrun.task_id_seq'));
    NEW.name := coalesce(NEW.name, '');
    NEW.queue := coalesce(NEW.queue, 'default');
    NEW.sequential := coalesce(NEW.sequential, NEW.type = 'DATABASE_MIGRATE', false);
    NEW.payload := coalesce(NEW.payload, '{}');
    NEW.priority := coalesce(NEW.priority, 0);
    NEW.max_attempts := coalesce(NEW.max_attempts, 1);
    NEW.retry_delay := coalesce(NEW.retry_delay, '10 s');
    NEW.on_stale := coalesce(NEW.on_stale, 'FAIL');
    NEW.paused := coalesce(NEW.paused, false);
    NEW.skipped := coalesce(NEW.skipped, false);
    NEW.labels := coalesce(NEW.labels, '{}');

    IF TG_OP = 'INSERT' THEN
        PERFORM rowrun.check_id(NEW.id, 'rowrun.task_id_seq');
        NEW.created_at := now();
        NEW.outcome := NULL;
        NEW.outcome_round := NULL;
        NEW.outcome_run_id := NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'a task keeps its id' USING ERRCODE = 'RR003';
        END IF;
        IF NEW.plan_id IS DISTINCT FROM OLD.plan_id THEN
            NEW.outcome_round := NULL; -- it was counted in the old plan's rounds
            IF EXISTS (SELECT FROM rowrun.task_dependency d WHERE OLD.id IN (d.task_id, d.depends_on_id)) THEN
                RAISE EXCEPTION 'task % has dependencies: it stays in its plan', OLD.id
                    USING ERRCODE = 'RR003', HINT = 'Delete its rows in rowrun.task_dependency first.';
            END IF;
        END IF;
        IF NEW.plan_id IS DISTINCT FROM OLD.plan_id AND EXISTS (
            SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
           OR OLD.plan_id IS NOT NULL
              AND (NEW.type, NEW.queue, NEW.database_id, NEW.version, NEW.sequential)
                  IS DISTINCT FROM (OLD.type, OLD.queue, OLD.database_id, OLD.version, OLD.sequential)
              AND EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.plan_id IS NOT NULL
                          AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING'))
        THEN
            RAISE EXCEPTION 'task % has an unfinished run: its type, queue, database_id, version, sequential and plan_id are fixed until that ends', OLD.id
                USING ERRCODE = 'RR005', HINT = 'Cancel the run or wait for its end.';
        END IF;
        IF NEW.skipped AND NOT OLD.skipped AND OLD.plan_id IS NOT NULL THEN
            -- A run that is just being promoted is waited for, and one that is held here isn't promoted.
            PERFORM FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.plan_id IS NOT NULL
                AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') FOR NO KEY UPDATE;
        END IF;
        IF NEW.skipped AND NOT OLD.skipped
           AND (EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status = 'AVAILABLE')
                OR EXISTS (SELECT FROM rowrun.task_run r WHERE r.task_id = OLD.id AND r.status = 'RUNNING'))
        THEN
            RAISE EXCEPTION 'task % has a run that is AVAILABLE or RUNNING: it can''t be skipped', OLD.id
                USING ERRCODE = 'RR004', HINT = 'Cancel the run first.';
        END IF;
    END IF;
    RETURN NEW;
END $$;
-- Not of what the end of a run writes: its outcome.
CREATE TRIGGER task_fill BEFORE INSERT OR UPDATE OF id, plan_id, name, type, queue, database_id, version, sequential, payload,
    priority, timeout, progress_timeout, max_attempts, retry_delay, on_stale, paused, skipped, skip_reason, labels, created_at
    ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_fill();

-- Tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors, whatever is to be changed of them: when they run, how often
-- and in which order is as much part of them as their text. Asked at every UPDATE that names a column which a client may
-- write (columns that come later bring triggers of their own), not of what the end of a run writes.
CREATE FUNCTION rowrun.task_author_check() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (is_authors(NEW.type) OR TG_OP = 'UPDATE' AND is_authors(OLD.type)) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may write tasks of type %',
            CASE WHEN TG_OP = 'UPDATE' AND is_authors(OLD.type) THEN OLD.type ELSE NEW.type END
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT rowrun_author TO the role, or let an author define the task.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER task_author_insert BEFORE INSERT ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();
CREATE TRIGGER task_author_update BEFORE UPDATE OF id, plan_id, name, type, queue, database_id, version, sequential, payload, priority,
    timeout, progress_timeout, max_attempts, retry_delay, on_stale, on_failure_task, paused, skipped, skip_reason, retention, labels,
    created_at ON rowrun.task FOR EACH ROW EXECUTE FUNCTION rowrun.task_author_check();

-- What an author's task waits for is the author's, too.
CREATE FUNCTION rowrun.task_dependency_author() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM rowrun.task k WHERE k.id = NEW.task_id AND is_authors(k.type)) AND NOT is_author() THEN
        RAISE EXCEPTION 'only members of rowrun_author may say what task % waits for', NEW.task_id
            USING ERRCODE = 'insufficient_privilege', HINT = 'It is of a type that authors write. GRANT rowrun_author TO the role, or let an author do it.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER task_dependency_author BEFORE INSERT ON rowrun.task_dependency
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_author();

-- Edges of a plan are changed under its row: of two that would close a cycle together the second sees the first.
CREATE FUNCTION rowrun.task_dependency_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    dependents   bigint[] := CASE TG_OP WHEN 'INSERT' THEN ARRAY[NEW.task_id] WHEN 'DELETE' THEN ARRAY[OLD.task_id]
                                        ELSE ARRAY[OLD.task_id, NEW.task_id] END;
    dependent    bigint;
    waiting_plan bigint;
    needed_plan  bigint;
BEGIN
    SELECT plan_id INTO waiting_plan FROM rowrun.task WHERE id = dependents[cardinality(dependents)];
    IF TG_OP = 'DELETE' THEN
        -- With one of its tasks gone it goes by cascade.
        IF NOT FOUND OR NOT EXISTS (SELECT FROM rowrun.task WHERE id = OLD.depends_on_id) THEN
            RETURN OLD;
        END IF;
    ELSE
        SELECT plan_id INTO needed_plan FROM rowrun.task WHERE id = NEW.depends_on_id;
        IF waiting_plan IS NULL OR needed_plan IS DISTINCT FROM waiting_plan THEN
            RAISE EXCEPTION 'tasks % and % are not of one plan', NEW.task_id, NEW.depends_on_id
                USING ERRCODE = 'RR003', HINT = 'A dependency holds between two tasks of the same plan.';
        END IF;
    END IF;
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        UPDATE rowrun.plan SET name = name WHERE id = waiting_plan; -- of two at once one fails with 40001
    ELSE
        PERFORM FROM rowrun.plan WHERE id = waiting_plan FOR NO KEY UPDATE;
    END IF;
    -- A run that is just being promoted is waited for, and one that is held here isn't promoted.
    PERFORM FROM rowrun.task_run WHERE task_id = ANY (dependents) AND plan_id IS NOT NULL
        AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') ORDER BY id FOR NO KEY UPDATE;
    SELECT task_id INTO dependent FROM rowrun.task_run
    WHERE task_id = ANY (dependents) AND plan_id IS NOT NULL AND status IN ('PENDING', 'AVAILABLE', 'RUNNING') AND status <> 'PENDING';
    IF FOUND THEN
        RAISE EXCEPTION 'task % has a run that is AVAILABLE or RUNNING: what it waits for is fixed until that ends', dependent
            USING ERRCODE = 'RR005', HINT = 'Wait for its end, or cancel the run.';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER task_dependency_check BEFORE INSERT OR UPDATE OR DELETE ON rowrun.task_dependency
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_check();

-- Kahn's algorithm on what the new edges lead to: tasks that need nothing (any more) are taken away; where some are
-- left, they wait for each other. An edge from a task that nobody needs, or to one that needs nothing, closes none.
CREATE FUNCTION rowrun.task_dependency_acyclic() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off -- the table may have grown a hundredfold since statistics were made, by this statement
    SET jit = off
AS $$
DECLARE
    ids        bigint[];   -- the tasks
    needs      integer[];  -- how many each still needs
    needed_by  integer[];  -- places of those that need a task, one task after the other
    first      integer[];  -- where in needed_by a task's begin
    ready      integer[];
    edge       record;
    n          integer := 0;
    walk       bigint[];
    step       bigint;
    told       text;
BEGIN
    WITH RECURSIVE reached(id) AS (
        SELECT a.depends_on_id FROM added a
        WHERE EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.depends_on_id = a.task_id)
          AND EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.task_id = a.depends_on_id)
        UNION
        SELECT d.depends_on_id FROM reached r
        CROSS JOIN LATERAL (SELECT e.depends_on_id FROM rowrun.task_dependency e WHERE e.task_id = r.id OFFSET 0) d
    )
    SELECT array_agg(r.id ORDER BY r.id) INTO ids FROM reached r;
    IF ids IS NULL THEN
        RETURN NULL;
    END IF;
    needs := array_fill(0, ARRAY[cardinality(ids)]);
    first := array_fill(0, ARRAY[cardinality(ids) + 1]);
    needed_by := '{}';
    FOR edge IN
        WITH edges AS MATERIALIZED (
            SELECT d.task_id, w.place
            FROM unnest(ids) WITH ORDINALITY w(id, place)
            CROSS JOIN LATERAL (SELECT e.task_id FROM rowrun.task_dependency e WHERE e.depends_on_id = w.id OFFSET 0) d
        )
        SELECT t.place::int AS task, e.place::int AS needed
        FROM edges e JOIN unnest(ids) WITH ORDINALITY t(id, place) ON t.id = e.task_id
        ORDER BY e.place
    LOOP
        n := n + 1;
        needed_by[n] := edge.task;
        needs[edge.task] := needs[edge.task] + 1;
        IF first[edge.needed] = 0 THEN
            first[edge.needed] := n;
        END IF;
    END LOOP;
    first[cardinality(ids) + 1] := n + 1;
    FOR i IN REVERSE cardinality(ids)..1 LOOP
        IF first[i] = 0 THEN
            first[i] := first[i + 1];
        END IF;
    END LOOP;
    ready := ARRAY(SELECT i FROM generate_subscripts(needs, 1) i WHERE needs[i] = 0);
    n := 1;
    WHILE n <= cardinality(ready) LOOP
        FOR i IN first[ready[n]]..first[ready[n] + 1] - 1 LOOP
            needs[needed_by[i]] := needs[needed_by[i]] - 1;
            IF needs[needed_by[i]] = 0 THEN
                ready[cardinality(ready) + 1] := needed_by[i];
            END IF;
        END LOOP;
        n := n + 1;
    END LOOP;
    IF cardinality(ready) = cardinality(ids) THEN
        RETURN NULL;
    END IF;

    ids := ARRAY(SELECT ids[i] FROM generate_subscripts(needs, 1) i WHERE needs[i] > 0);
    step := ids[1];
    WHILE step <> ALL (coalesce(walk, '{}')) LOOP
        walk := walk || step;
        SELECT min(d.id) INTO step
        FROM (SELECT e.depends_on_id AS id FROM rowrun.task_dependency e WHERE e.task_id = step OFFSET 0) d WHERE d.id = ANY (ids);
    END LOOP;
    walk := walk[array_position(walk, step):];
    n := array_position(walk, (SELECT min(w) FROM unnest(walk) w));
    walk := walk[n:] || walk[1:n - 1] || walk[n];
    SELECT string_agg(CASE WHEN w.n = 12 AND cardinality(walk) > 20 THEN '... (' || cardinality(walk) - 14 || ' more)'
                           ELSE w.id || CASE k.name WHEN '' THEN '' ELSE ' (' || k.name || ')' END END, ' -> ' ORDER BY w.n)
    INTO told
    FROM unnest(walk) WITH ORDINALITY w(id, n) JOIN rowrun.task k ON k.id = w.id
    WHERE cardinality(walk) <= 20 OR w.n <= 12 OR w.n > cardinality(walk) - 2;
    RAISE EXCEPTION 'dependencies in a circle: task %', told
        USING ERRCODE = 'RR003', HINT = 'Each of these tasks would wait for the next one for ever; leave one dependency out.';
END $$;
CREATE TRIGGER task_dependency_added AFTER INSERT ON rowrun.task_dependency REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_acyclic();
CREATE TRIGGER task_dependency_moved AFTER UPDATE ON rowrun.task_dependency REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION rowrun.task_dependency_acyclic();

-- Bounds of what users and executors give a run: a document is a JSON object of at most 1 MiB (compression makes at
-- most 255 of 1, so that what is stored in less than 2,000 bytes needs no look).
CREATE FUNCTION rowrun.task_run_bounds(r rowrun.task_run) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF jsonb_typeof(r.input) <> 'object' OR (pg_column_size(r.input) >= 2000 AND (octet_length(r.input::text) > 1048576 OR rowrun.too_deep(r.input))) THEN
        RAISE EXCEPTION 'input of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and pass a reference.';
    ELSIF jsonb_typeof(r.result) <> 'object' OR (pg_column_size(r.result) >= 2000 AND (octet_length(r.result::text) > 1048576 OR rowrun.too_deep(r.result))) THEN
        RAISE EXCEPTION 'result of a run is a JSON object of at most 1 MiB and 1,000 levels'
            USING ERRCODE = 'check_violation', HINT = 'Keep large data elsewhere and leave a reference.';
    ELSIF pg_column_size(r.progress) >= 2000 AND (octet_length(r.progress::text) > 1048576 OR rowrun.too_deep(r.progress)) THEN
        RAISE EXCEPTION 'progress of a run is at most 1 MiB and 1,000 levels' USING ERRCODE = 'check_violation', HINT = 'Report less.';
    ELSIF r.run_at < timestamptz '1900-01-01 00:00+00' OR r.run_at >= timestamptz '9999-01-01 00:00+00' THEN
        RAISE EXCEPTION 'run_at lies between the years 1900 and 9999' USING ERRCODE = 'check_violation', HINT = 'For "now" leave it out.';
    ELSIF r.idempotency_key = '' OR octet_length(r.idempotency_key) > 500 THEN
        RAISE EXCEPTION 'idempotency_key has 1 to 500 bytes' USING ERRCODE = 'check_violation', HINT = 'For none use NULL.';
    ELSIF octet_length(r.cancel_reason) > 10000 THEN
        RAISE EXCEPTION 'cancel_reason has at most 10,000 bytes' USING ERRCODE = 'check_violation', HINT = 'Shorten it.';
    ELSIF octet_length(r.replica_id) > 100 THEN
        RAISE EXCEPTION 'replica_id has at most 100 bytes' USING ERRCODE = 'check_violation', HINT = 'Name a replica of rowrun.replica_heartbeat.';
    ELSIF least(r.created_at, r.available_at, r.started_at, r.finished_at, r.updated_at, r.deadline, r.cancel_requested_at,
                r.progress_at, r.tick, r.missed_at, r.judge_at) < timestamptz '1900-01-01 00:00+00'
          OR greatest(r.created_at, r.available_at, r.started_at, r.finished_at, r.updated_at, r.deadline, r.cancel_requested_at,
                      r.progress_at, r.tick, r.missed_at, r.judge_at) >= timestamptz '9999-12-31 00:00+00'
    THEN
        RAISE EXCEPTION 'times of a run lie between the years 1900 and 9999' USING ERRCODE = 'check_violation', HINT = 'For "now" use now().';
    END IF;
END $$;

-- Fills a new run from its task; rowrun.note_ready comes with the signals (next migration). A successor (retry_of) is one
-- that its predecessor names, and that a function of ours or a replica inserts; what anybody else gives there is
-- overwritten like everything else that isn't the user's to say. A tick is taken from the same, where they say that it is
-- a schedule's (rowrun.scheduling), so that an owner's plain INSERT has none.
-- Its plans are made at the first row of a session, where the tables may be empty and vacuumed: reading them from end to
-- end then costs nothing, and would go on with the thousands of rows of the same statement.
CREATE FUNCTION rowrun.is_scheduling() RETURNS boolean LANGUAGE sql STABLE
    RETURN coalesce(current_setting('rowrun.scheduling', true), '') = 'on' AND rowrun.is_trusted();
CREATE FUNCTION rowrun.task_run_fill() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t record;
    current_round integer;
    depends boolean;
    marked boolean;
BEGIN
    SELECT k.type, k.queue, k.database_id, k.version, k.version_key, k.sequential, k.priority, k.plan_id,
           nullif(k.retention IS NOT NULL, false) AS own_retention
    INTO t FROM rowrun.task k WHERE k.id = NEW.task_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'task % does not exist', coalesce(NEW.task_id::text, 'NULL')
            USING ERRCODE = 'foreign_key_violation', HINT = 'Insert the task first, or look for its id in rowrun.task.';
    END IF;
    IF NEW.status <> 'PENDING' THEN
        RAISE EXCEPTION 'a run is inserted as PENDING, not as %', NEW.status
            USING ERRCODE = 'RR003', HINT = 'Leave status out.';
    END IF;
    NEW.id := coalesce(NEW.id, nextval('rowrun.task_run_id_seq'));
    IF NEW.id IS DISTINCT FROM pg_sequence_last_value('rowrun.task_run_id_seq') THEN -- given, or another session has drawn one since
        PERFORM rowrun.check_id(NEW.id, 'rowrun.task_run_id_seq');
        IF EXISTS (SELECT FROM rowrun.task_run c WHERE c.root_id = NEW.id AND c.attempt > 0 AND c.retry_run_id IS NULL)
           AND NOT rowrun.is_owner()
        THEN
            RAISE EXCEPTION 'id % is that of a chain of retries whose first run is gone', NEW.id
                USING ERRCODE = 'RR003', HINT = 'Leave id out.';
        END IF;
    END IF;
    NEW.status := 'PENDING';
    NEW.run_at := coalesce(NEW.run_at, now());
    NEW.input := coalesce(NEW.input, '{}');
    NEW.priority := coalesce(NEW.priority, t.priority);
    NEW.plan_id := t.plan_id;
    NEW.type := t.type;
    NEW.queue := t.queue;
    NEW.database_id := t.database_id;
    NEW.version := t.version;
    NEW.version_key := t.version_key;
    NEW.sequential := t.sequential;
    NEW.own_retention := t.own_retention;
    NEW.created_at := now();
    NEW.updated_at := now();
    NEW.result := '{}';
    IF NEW.retry_of IS NOT NULL THEN -- asked by itself: a query in the condition below would be one for each INSERT
        IF NOT rowrun.is_trusted() OR NOT EXISTS (SELECT FROM rowrun.task_run p WHERE p.id = NEW.retry_of AND p.retry_run_id = NEW.id) THEN
            NEW.retry_of := NULL;
        END IF;
    END IF;
    IF NEW.retry_of IS NULL THEN
        NEW.attempt := 0;
        NEW.root_id := NEW.id;
        NEW.creator := current_user;
        NEW.failures := 0;
        NEW.recoveries := 0;
        NEW.round := NULL;
        IF NEW.tick IS NOT NULL AND NOT rowrun.is_scheduling() THEN
            NEW.tick := NULL;
        END IF;
    END IF;
    -- What is a handler's run follows from who inserts it: a key or a setting could be anybody's.
    IF NEW.handles IS NOT NULL AND NOT rowrun.is_trusted() THEN
        NEW.handles := NULL;
    END IF;
    IF NEW.tick IS NULL AND NEW.missed_at IS NOT NULL THEN
        NEW.missed_at := NULL;
    END IF;
    IF t.plan_id IS NULL THEN
        NEW.round := NULL;
    ELSE
        -- One look at all that its plan says. The round is the current one, or the next where that has its event; an
        -- automatic retry says its predecessor's. One mark is enough for what a transaction inserts: it has left one where
        -- the plan's newest PENDING run is its own, too.
        SELECT least(p.round, 2147483646) + (p.announced_round >= p.round)::int,
               EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.task_id = NEW.task_id),
               (SELECT u.created_at = now() AND u.hold IS NOT DISTINCT FROM 'READY' FROM rowrun.task_run u
                WHERE u.plan_id = t.plan_id AND u.status = 'PENDING' ORDER BY u.id DESC LIMIT 1)
        INTO current_round, depends, marked FROM rowrun.plan p WHERE p.id = t.plan_id;
        NEW.round := coalesce(NEW.round, current_round);
    END IF;
    IF NOT (ROW(NEW.available_at, NEW.started_at, NEW.finished_at, NEW.deadline, NEW.cancel_requested_at, NEW.cancel_reason,
                NEW.progress, NEW.progress_at, NEW.replica_id, NEW.claim_hash, NEW.prev_status, NEW.by_hand, NEW.retry_run_id) IS NULL)
    THEN
        NEW.available_at := NULL;
        NEW.started_at := NULL;
        NEW.finished_at := NULL;
        NEW.deadline := NULL;
        NEW.cancel_requested_at := NULL;
        NEW.cancel_reason := NULL;
        NEW.progress := NULL;
        NEW.progress_at := NULL;
        NEW.replica_id := NULL;
        NEW.claim_hash := NULL;
        NEW.prev_status := NULL;
        NEW.by_hand := NULL;
        NEW.retry_run_id := NULL;
    END IF;
    IF pg_column_size(NEW.input) >= 2000 OR jsonb_typeof(NEW.input) <> 'object' OR NEW.idempotency_key IS NOT NULL
       OR NEW.run_at < timestamptz '1900-01-01 00:00+00' OR NEW.run_at >= timestamptz '9999-01-01 00:00+00'
    THEN
        PERFORM rowrun.task_run_bounds(NEW);
    END IF;
    IF t.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') AND NEW.input ?| '{sql,transaction,command}' THEN
        RAISE EXCEPTION 'input of a % task may not name sql, transaction or command', t.type
            USING ERRCODE = 'RR003', HINT = 'They belong to the task''s payload.';
    END IF;
    -- Nothing but time and pause holds a run without plan and database: where it is due, the next pass takes it.
    IF t.plan_id IS NULL AND t.database_id IS NULL AND NEW.run_at <= clock_timestamp() THEN
        NEW.hold := 'READY';
        NEW.judge_at := NULL;
    ELSIF t.plan_id IS NOT NULL AND t.database_id IS NULL AND NEW.run_at <= clock_timestamp() AND NOT depends THEN
        -- Most likely only its plan holds it, which the pass looks at; the other gates are asked when its turn comes.
        NEW.hold := 'READY';
        NEW.judge_at := NULL;
        IF marked IS NOT TRUE THEN
            PERFORM rowrun.note_ready(t.plan_id);
        END IF;
    ELSE
        -- A run of a plan is looked at at once even where it isn't due yet: a retry ends what its failure held back.
        NEW.hold := NULL;
        NEW.judge_at := CASE WHEN t.plan_id IS NULL THEN NEW.run_at ELSE least(NEW.run_at, now()) END;
        -- Behind a smaller version that this very transaction has inserted it waits at least for that one, whose end has
        -- it looked at: nobody can have ended that before this run can be seen. What else the first judgement of a run
        -- looks at, its plan and what it holds back, is looked at for that one.
        IF t.version_key IS NOT NULL AND NEW.tick IS NULL AND NEW.run_at <= clock_timestamp() AND (
            SELECT u.xmin = pg_current_xact_id()::xid AND u.created_at = now() AND u.plan_id IS NOT DISTINCT FROM t.plan_id
                   AND (u.hold IS NOT DISTINCT FROM 'DATABASE' AND u.judge_at IS NULL OR u.judge_at <= clock_timestamp())
            FROM rowrun.task_run u
            WHERE u.database_id = t.database_id AND u.status = 'PENDING' AND u.version_key < t.version_key
            ORDER BY u.version_key DESC LIMIT 1)
        THEN
            NEW.hold := 'DATABASE';
            NEW.judge_at := NULL;
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER task_run_fill BEFORE INSERT ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fill();

-- The state machine. What replicas write is complete and passes the WHEN clause of the trigger without a call; what is
-- written by hand gets here, is completed or refused. rowrun.note_edit comes with the signals (next migration).
CREATE FUNCTION rowrun.task_run_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    ended boolean;
BEGIN
    NEW.result := coalesce(NEW.result, '{}');
    PERFORM rowrun.task_run_bounds(NEW);
    IF (NEW.run_at, NEW.priority) IS DISTINCT FROM (OLD.run_at, OLD.priority) THEN
        IF NEW.missed_at = OLD.missed_at THEN -- somebody put it off or brought it forward
            NEW.missed_at := OLD.missed_at + (NEW.run_at - OLD.run_at);
        END IF;
        IF NEW.status = 'PENDING' THEN
            PERFORM rowrun.note_edit(NEW.database_id, NEW.run_at < OLD.run_at);
            IF OLD.plan_id IS NULL AND OLD.database_id IS NULL AND NEW.run_at <= t THEN
                NEW.hold := 'READY';
                NEW.judge_at := NULL;
            ELSE
                NEW.hold := NULL;
                NEW.judge_at := NEW.run_at;
            END IF;
        END IF;
    END IF;

    IF (NEW.cancel_requested_at, NEW.cancel_reason) IS DISTINCT FROM (OLD.cancel_requested_at, OLD.cancel_reason) THEN
        IF OLD.status IN ('DONE', 'FAILED', 'CANCELED') THEN
            RAISE EXCEPTION 'run % is %: there is nothing to cancel any more', OLD.id, OLD.status
                USING ERRCODE = 'RR004', HINT = 'What followed it is canceled by rowrun.cancel_run.';
        ELSIF OLD.cancel_requested_at IS NOT NULL THEN
            RAISE EXCEPTION 'run %: a cancel that was asked for stays', OLD.id
                USING ERRCODE = 'RR003', HINT = 'When it has ended, rowrun.retry_run makes a successor.';
        ELSIF NEW.cancel_requested_at IS NOT NULL THEN
            NEW.cancel_requested_at := t; -- whatever moment was given
        END IF;
    END IF;

    -- A cancel that was asked for needs nobody's help but for a run that a replica executes.
    IF NEW.status = OLD.status AND NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL
       AND (OLD.status IN ('PENDING', 'AVAILABLE') OR OLD.status = 'RUNNING' AND NEW.replica_id IS NULL)
    THEN
        NEW.status := 'CANCELED';
    END IF;

    IF NEW.status = OLD.status THEN
        IF NEW.cancel_requested_at IS NOT NULL AND OLD.cancel_requested_at IS NULL THEN
            PERFORM rowrun.note_edit(NULL, true);
        END IF;
        NEW.prev_status := NULL;
        NEW.updated_at := OLD.updated_at;
        RETURN NEW;
    END IF;

    ended := NEW.status IN ('DONE', 'FAILED', 'CANCELED');
    IF NOT (OLD.status = 'PENDING' AND NEW.status IN ('AVAILABLE', 'CANCELED')
            OR OLD.status = 'AVAILABLE' AND NEW.status IN ('RUNNING', 'CANCELED')
            OR OLD.status = 'RUNNING' AND ended)
    THEN
        RAISE EXCEPTION 'run % can''t go from % to %', OLD.id, OLD.status, NEW.status
            USING ERRCODE = 'RR001',
                  HINT = 'PENDING -> AVAILABLE -> RUNNING -> DONE, FAILED or CANCELED; to run it again use rowrun.retry_run or insert a run.';
    END IF;
    NEW.prev_status := OLD.status;
    NEW.by_hand := true;
    NEW.hold := NULL;
    NEW.judge_at := NULL;
    NEW.updated_at := t;
    IF NEW.status = 'AVAILABLE' THEN
        NEW.available_at := coalesce(NEW.available_at, t);
    ELSIF NEW.status = 'RUNNING' THEN
        IF NEW.replica_id IS NULL THEN
            RAISE EXCEPTION 'run % can''t be RUNNING without a replica', OLD.id
                USING ERRCODE = 'RR003', HINT = 'Set replica_id too.';
        END IF;
        NEW.started_at := coalesce(NEW.started_at, t);
        IF NEW.claim_hash IS NULL AND NEW.deadline IS NULL THEN
            NEW.deadline := (SELECT NEW.started_at + k.timeout FROM rowrun.task k
                             WHERE k.id = NEW.task_id AND k.timeout > interval '0');
        END IF;
    ELSE
        NEW.finished_at := coalesce(NEW.finished_at, t);
        NEW.claim_hash := CASE WHEN NEW.status = 'CANCELED' THEN OLD.claim_hash END;
        IF NEW.status = 'CANCELED' AND NOT NEW.result ? 'code' THEN
            NEW.result := NEW.result || jsonb_build_object('code', 'CANCELED', 'detail',
                'Task run canceled' || coalesce(': ' || NEW.cancel_reason, ''));
        ELSIF NEW.status = 'FAILED' AND NOT NEW.result ? 'code' THEN
            NEW.result := '{"detail": "Task run marked as failed by hand"}' || NEW.result || '{"code": "ERROR"}';
        END IF;
    END IF;
    RETURN NEW;
END $$;
-- A call costs more than the update itself, so that what replicas write passes without one: their statements are
-- complete, say in prev_status which edge they take, and announce it themselves (rowrun.announce); a judgement changes
-- hold and no status. Whoever updates by hand leaves prev_status as the last edge set it. The clause is short because
-- it is parsed anew for each statement. What such a statement never names has a trigger of its own (task_run_fixed).
CREATE TRIGGER task_run_guard BEFORE UPDATE ON rowrun.task_run FOR EACH ROW
    WHEN ((NEW.prev_status = OLD.status AND NEW.updated_at > OLD.updated_at
           AND OLD.status || NEW.status IN ('PENDINGAVAILABLE', 'PENDINGCANCELED', 'AVAILABLERUNNING', 'RUNNINGDONE', 'RUNNINGFAILED', 'RUNNINGCANCELED')
           OR NEW.hold <> coalesce(OLD.hold, '') AND NEW.status = OLD.status) IS NOT TRUE)
    EXECUTE FUNCTION rowrun.task_run_guard();

-- What a run is, and what users may change of it: asked of every statement that names one of these columns, whatever
-- else it says. Those that take a run through its life name none, so that it costs them nothing. It goes before the
-- guard, by its name.
CREATE FUNCTION rowrun.task_run_fixed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF (NEW.id, NEW.task_id, NEW.root_id, NEW.retry_of, NEW.attempt, NEW.created_at, NEW.plan_id, NEW.type, NEW.queue,
        NEW.database_id, NEW.version, NEW.version_key, NEW.sequential, NEW.idempotency_key, NEW.round, NEW.creator, NEW.failures,
        NEW.recoveries, NEW.own_retention, NEW.handles)
       IS DISTINCT FROM
       (OLD.id, OLD.task_id, OLD.root_id, OLD.retry_of, OLD.attempt, OLD.created_at, OLD.plan_id, OLD.type, OLD.queue,
        OLD.database_id, OLD.version, OLD.version_key, OLD.sequential, OLD.idempotency_key, OLD.round, OLD.creator, OLD.failures,
        OLD.recoveries, OLD.own_retention, OLD.handles)
    THEN
        RAISE EXCEPTION 'run %: what it is does not change; only run_at, priority and input do until it is claimed', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Cancel the run and insert another one.';
    END IF;
    IF (NEW.tick, NEW.missed_at) IS DISTINCT FROM (OLD.tick, OLD.missed_at) AND NOT rowrun.is_scheduling() THEN
        RAISE EXCEPTION 'run %: its tick is its schedule''s to say', OLD.id
            USING ERRCODE = 'RR003', HINT = 'Change run_at, or the schedule of the task.';
    END IF;
    NEW.run_at := coalesce(NEW.run_at, now());
    NEW.input := coalesce(NEW.input, '{}');
    NEW.priority := coalesce(NEW.priority, (SELECT k.priority FROM rowrun.task k WHERE k.id = OLD.task_id));
    IF (NEW.run_at, NEW.priority, NEW.input) IS DISTINCT FROM (OLD.run_at, OLD.priority, OLD.input) THEN
        -- What has been claimed has its input; a run that is AVAILABLE was due, and stays so.
        IF OLD.status <> 'PENDING' AND (OLD.status <> 'AVAILABLE' OR NEW.run_at <> OLD.run_at) THEN
            RAISE EXCEPTION 'run % is %: run_at changes while it is PENDING, priority and input until it is claimed', OLD.id, OLD.status
                USING ERRCODE = 'RR003', HINT = 'Cancel the run and insert another one.';
        END IF;
        PERFORM rowrun.task_run_bounds(NEW);
        IF OLD.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') AND NEW.input ?| '{sql,transaction,command}' THEN
            RAISE EXCEPTION 'input of a % task may not name sql, transaction or command', OLD.type
                USING ERRCODE = 'RR003', HINT = 'They belong to the task''s payload.';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER task_run_fixed BEFORE UPDATE OF id, task_id, root_id, retry_of, attempt, created_at, plan_id, type, queue, database_id,
    version, version_key, sequential, idempotency_key, round, creator, failures, recoveries, own_retention, handles, tick, missed_at,
    run_at, priority, input ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION rowrun.task_run_fixed();

CREATE FUNCTION rowrun.task_run_keep() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'run % is %: it can''t be deleted, nor its task or plan', OLD.id, OLD.status
        USING ERRCODE = 'RR006', HINT = 'Cancel it and wait for its end.';
END $$;
CREATE TRIGGER task_run_keep BEFORE DELETE ON rowrun.task_run FOR EACH ROW
    WHEN (OLD.status IN ('AVAILABLE', 'RUNNING')) EXECUTE FUNCTION rowrun.task_run_keep();

CREATE FUNCTION rowrun.replica_heartbeat_fill() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    NEW.name := coalesce(NEW.name, '');
    NEW.hostname := coalesce(NEW.hostname, '');
    NEW.version := coalesce(NEW.version, '');
    NEW.started_at := coalesce(NEW.started_at, now());
    NEW.state := coalesce(NEW.state, 'ACTIVE');
    NEW.lease := coalesce(NEW.lease, '60 s');
    NEW.queues := coalesce(NEW.queues, '{default}');
    NEW.types := coalesce(NEW.types, '{}');
    NEW.databases := coalesce(NEW.databases, '{}');
    NEW.commands := coalesce(NEW.commands, '{}');
    NEW.concurrency := coalesce(NEW.concurrency, 0);
    NEW.running := coalesce(NEW.running, 0);
    RETURN NEW;
END $$;
CREATE TRIGGER replica_heartbeat_fill BEFORE INSERT ON rowrun.replica_heartbeat
    FOR EACH ROW EXECUTE FUNCTION rowrun.replica_heartbeat_fill();

COMMENT ON FUNCTION rowrun.is_owner() IS 'Internal: whether the role that executes owns the tables.';
COMMENT ON FUNCTION rowrun.is_trusted() IS 'Internal: whether the role that executes owns the tables or is a replica''s.';
COMMENT ON FUNCTION rowrun.is_authors(text) IS 'Internal: whether tasks of a type are for authors.';
COMMENT ON FUNCTION rowrun.is_author() IS 'Internal: whether the role that executes may write tasks for authors.';
COMMENT ON FUNCTION rowrun.is_scheduling() IS 'Internal: whether a statement that makes or moves ticks is the schedule''s.';
COMMENT ON FUNCTION rowrun.check_id(bigint, regclass) IS 'Internal: refuses ids that no sequence has drawn.';
COMMENT ON FUNCTION rowrun.task_author_check() IS 'Trigger: tasks of SQL, DATABASE_MIGRATE and COMMAND are for authors.';
COMMENT ON FUNCTION rowrun.task_dependency_author() IS 'Trigger: what an author''s task waits for is the author''s to say.';
COMMENT ON FUNCTION rowrun.plan_fill() IS 'Trigger: NULLs get their defaults.';
COMMENT ON FUNCTION rowrun.task_fill() IS 'Trigger: NULLs get their defaults; who may write which type; what is fixed while a run is unfinished.';
COMMENT ON FUNCTION rowrun.task_dependency_check() IS 'Trigger: both tasks are of one plan, and the one that waits isn''t under way.';
COMMENT ON FUNCTION rowrun.task_dependency_acyclic() IS 'Trigger: no task waits for itself by way of others.';
COMMENT ON FUNCTION rowrun.task_run_bounds(rowrun.task_run) IS 'Internal: refuses what is too large or out of range.';
COMMENT ON FUNCTION rowrun.task_run_fill() IS 'Trigger: fills a new run from its task.';
COMMENT ON FUNCTION rowrun.task_run_guard() IS 'Trigger: the state machine; completes what is written by hand.';
COMMENT ON FUNCTION rowrun.task_run_fixed() IS 'Trigger: what a run is stays; what users may change of it, and how long.';
COMMENT ON FUNCTION rowrun.task_run_keep() IS 'Trigger: runs that are AVAILABLE or RUNNING stay.';
COMMENT ON FUNCTION rowrun.replica_heartbeat_fill() IS 'Trigger: NULLs get their defaults.';

INSERT INTO rowrun.migration (version) VALUES (3);
