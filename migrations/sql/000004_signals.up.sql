-- What a change sets off: a notification (decided at commit), marks that tell the next pass where to look, and the
-- outcome that a plan's task is left with. At the statement of an INSERT only the mark of a plan's new runs is left.

CREATE TABLE rowrun.gate_mark (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL CHECK (kind IN ('RUN', 'DEPENDENT', 'DATABASE', 'PLAN', 'GATE', 'TASK', 'FAILURE', 'PAUSE', 'REPLICA')),
    run_id      bigint,
    database_id text,
    plan_id     bigint,
    task_id     bigint,
    round       integer,
    by_run      boolean,
    wide        boolean,
    at          timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_insert_threshold = 1000, autovacuum_vacuum_insert_scale_factor = 0);
COMMENT ON TABLE rowrun.gate_mark IS 'Where a gate may have opened: written by whatever opens one, taken by the next promote pass.';
COMMENT ON COLUMN rowrun.gate_mark.id IS 'Key; taken in this order.';
COMMENT ON COLUMN rowrun.gate_mark.kind IS 'RUN: judge it. DEPENDENT: judge the run of a task that waits for less. DATABASE: a run there ended. PLAN: it has new runs, a slot or the plan became free, or its round may have its event. GATE: a PLAN that was paused, resumed or given another limit, so that others on its databases may go on too. TASK: it is done or skipped. FAILURE: a failed version of the plan and database was mended. PAUSE: a task goes on. REPLICA: one came that may fit.';
COMMENT ON COLUMN rowrun.gate_mark.run_id IS 'For RUN.';
COMMENT ON COLUMN rowrun.gate_mark.database_id IS 'For DATABASE and FAILURE.';
COMMENT ON COLUMN rowrun.gate_mark.plan_id IS 'For PLAN, GATE and FAILURE.';
COMMENT ON COLUMN rowrun.gate_mark.task_id IS 'For DEPENDENT, TASK and PAUSE.';
COMMENT ON COLUMN rowrun.gate_mark.round IS 'For PLAN: the round that has begun with what left the mark.';
COMMENT ON COLUMN rowrun.gate_mark.by_run IS 'Whether a run began it.';
COMMENT ON COLUMN rowrun.gate_mark.at IS 'When it was left: not before the end that left it, nor after its commit.';
COMMENT ON COLUMN rowrun.gate_mark.wide IS 'For PLAN: the next of its runs may be held by more than the plan; look at more than it has slots.';

-- Whether the server's queue of notifications takes more. One that is full has every transaction with a NOTIFY fail when
-- it commits, where nothing can be done about it any more: from half full on, as the server begins to warn, nothing is
-- said; sweeps and the log find everything. The other half is for what speaks at the same moment, and for other programs.
-- Looking also has the server forget what everybody has read. Inlined where it is called.
CREATE FUNCTION rowrun.may_notify() RETURNS boolean LANGUAGE sql VOLATILE
    RETURN pg_notification_queue_usage() < 0.5;

-- Says "look" to every replica, once per transaction.
CREATE FUNCTION rowrun.notify_look() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF rowrun.may_notify() THEN
        PERFORM pg_notify('rowrun_task_run', '[]');
    END IF;
END $$;

-- Whether the session keeps quiet about what it inserts itself, because it will PREPARE the transaction. Of runs that are
-- not its own it can silence nothing.
CREATE FUNCTION rowrun.is_quiet() RETURNS boolean LANGUAGE sql STABLE
    RETURN coalesce(current_setting('rowrun.notify', true), '') = 'off';

-- The same for an INSERT, where transactions that notify would commit one by one: of those that commit within the same
-- 5 ms one says it for all. The key holds a slice of the clock, so that one that keeps the lock for long (deferred
-- triggers made immediate) silences one slice only. Others may commit behind the one that spoke: replicas look again
-- until all have ended that were open when they looked. The last condition notifies; as an expression it needs no query.
CREATE FUNCTION rowrun.task_run_inserted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT rowrun.is_quiet() AND pg_try_advisory_xact_lock(1920298606, (extract(epoch FROM clock_timestamp()) * 200)::bigint::bit(32)::int)
       AND rowrun.may_notify()
       AND pg_notify('rowrun_task_run', '[]') IS NULL
    THEN
        NULL;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER task_run_inserted AFTER INSERT ON rowrun.task_run DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.retry_of IS NULL) EXECUTE FUNCTION rowrun.task_run_inserted();

-- A change of status as it is notified.
CREATE FUNCTION rowrun.transition(r rowrun.task_run) RETURNS text LANGUAGE sql STABLE
    RETURN '{"run_id":' || r.id || ',"task_id":' || r.task_id || ',"plan_id":' || coalesce(r.plan_id::text, 'null')
        || ',"from":"' || r.prev_status || '","to":"' || r.status || '","attempt":' || r.attempt
        || ',"replica_id":' || coalesce(to_json(r.replica_id)::text, 'null') || '}';

-- Notifies changes of status that one notification can't hold. It has no query, because expressions take less.
CREATE FUNCTION rowrun.announce_parts(transitions text[]) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    payload text := '[' || array_to_string(transitions, ',') || ']';
    said integer := 0;
    -- As many as fit if all are of one size, which they nearly are; a look at each would take three times as long.
    few integer := greatest(1, 7700 * cardinality(transitions)::bigint / octet_length(payload));
BEGIN
    WHILE said < cardinality(transitions) LOOP
        payload := '[' || array_to_string(transitions[said + 1 : said + few], ',') || ']';
        IF octet_length(payload) <= 7900 THEN
            IF pg_notify('rowrun_task_run', payload) IS NULL THEN NULL; END IF;
            said := said + few;
        ELSE
            few := few / 2; -- one fits: ids and a replica's id are bounded
        END IF;
    END LOOP;
    RETURN true;
END $$;

-- Notifies changes of status. Each statement that takes an edge calls it for what it changed, once: a trigger with a
-- transition table would take as long as the rest of a statement on one row. It becomes part of that statement: a function
-- in PL/pgSQL would be planned anew whenever it is called under another search_path than the last time, as a round of a
-- replica does.
CREATE FUNCTION rowrun.announce(transitions text[]) RETURNS boolean LANGUAGE sql VOLATILE
    RETURN CASE WHEN cardinality(transitions) IS NULL OR NOT rowrun.may_notify() THEN false
                WHEN octet_length(array_to_string(transitions, ',')) > 7898 THEN rowrun.announce_parts(transitions)
                ELSE pg_notify('rowrun_task_run', '[' || array_to_string(transitions, ',') || ']') IS NULL END;

-- Plans of which a task counts as failed. Where that stops them, it holds their sequential runs back, behind which others
-- then needn't wait.
CREATE FUNCTION rowrun.mark_stopped(plan_ids bigint[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, database_id)
    SELECT DISTINCT 'DATABASE', k.database_id
    FROM rowrun.plan p JOIN rowrun.task k ON k.plan_id = p.id
    WHERE p.id = ANY (plan_ids) AND p.on_failure = 'STOP'
      AND k.database_id IS NOT NULL AND k.sequential AND k.outcome IS DISTINCT FROM 'DONE';
END $$;

-- What hangs on the end of runs with a plan or a database: the outcome of the plan's task, and marks for what may start.
CREATE FUNCTION rowrun.mark_ended(run_ids bigint[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    failed_plans bigint[];
BEGIN
    WITH ended AS (
        UPDATE rowrun.task t
        SET outcome = c.status, outcome_run_id = c.id,
            outcome_round = CASE c.status WHEN 'FAILED' THEN greatest(c.round, (SELECT p.round FROM rowrun.plan p WHERE p.id = c.plan_id)) END
        FROM rowrun.task_run c
        WHERE c.id = ANY (run_ids) AND t.id = c.task_id AND num_nonnulls(c.plan_id) = 1
          AND coalesce(c.status, '') IN ('DONE', 'FAILED', 'CANCELED') AND c.retry_run_id IS NULL
        RETURNING c.status, c.plan_id
    )
    SELECT array_agg(DISTINCT e.plan_id) FILTER (WHERE e.status = 'FAILED') INTO failed_plans FROM ended e;
    IF failed_plans IS NOT NULL THEN
        PERFORM rowrun.mark_stopped(failed_plans);
    END IF;
    INSERT INTO rowrun.gate_mark (kind, database_id, plan_id, task_id)
    SELECT DISTINCT m.kind, m.database_id, m.plan_id, m.task_id
    FROM rowrun.task_run c
    CROSS JOIN LATERAL (VALUES
        ('DATABASE', c.database_id, NULL::bigint, NULL::bigint),
        ('PLAN', NULL, CASE WHEN c.prev_status <> 'PENDING' THEN c.plan_id END, NULL),
        -- Its task is locked by now (above, or before the call): a pass that holds a run back for it either finds it
        -- locked, and leaves a mark of its own, or is over before this statement, which then sees the dependency.
        ('TASK', NULL, NULL, CASE WHEN c.plan_id IS NOT NULL AND c.status = 'DONE'
            AND (EXISTS (SELECT FROM rowrun.task_dependency d WHERE d.depends_on_id = c.task_id)
                 OR current_setting('transaction_isolation') <> 'read committed') THEN c.task_id END)
    ) m(kind, database_id, plan_id, task_id)
    WHERE c.id = ANY (run_ids) AND coalesce(c.status, '') IN ('DONE', 'FAILED', 'CANCELED')
      AND (m.database_id IS NOT NULL OR m.plan_id IS NOT NULL OR m.task_id IS NOT NULL);
END $$;

-- What an edge by hand sets off; replicas' statements say it themselves.
CREATE FUNCTION rowrun.task_run_by_hand() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.status = OLD.status THEN -- asked here, because the clause is parsed anew for each statement
        RETURN NULL;
    END IF;
    IF NOT (NEW.created_at = now() AND is_quiet()) THEN -- nobody else has seen what this transaction inserted
        PERFORM announce(ARRAY[transition(NEW)]);
    END IF;
    IF NEW.status = 'AVAILABLE' AND NEW.round > 1 THEN -- the promote pass begins the round before it gets here
        INSERT INTO gate_mark (kind, plan_id, round, by_run)
        SELECT 'PLAN', p.id, NEW.round, true FROM plan p WHERE p.id = NEW.plan_id AND NEW.round > p.round;
    END IF;
    IF (NEW.plan_id IS NOT NULL OR NEW.database_id IS NOT NULL) AND NEW.status IN ('DONE', 'FAILED', 'CANCELED') THEN
        PERFORM mark_ended(ARRAY[NEW.id]);
    END IF;
    IF NEW.tick IS NOT NULL AND NEW.status IN ('DONE', 'FAILED', 'CANCELED') THEN
        PERFORM schedule_after(ARRAY[NEW.id]);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER task_run_by_hand AFTER UPDATE ON rowrun.task_run FOR EACH ROW
    WHEN (NEW.by_hand) EXECUTE FUNCTION rowrun.task_run_by_hand();

-- The outcome of a plan's task changes with its newest ended run, or where a run is deleted: what a failure held
-- back may go on when it is gone.
CREATE FUNCTION rowrun.task_outcome_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, database_id, plan_id)
    SELECT 'PLAN', NULL, NEW.plan_id
    UNION ALL
    SELECT 'FAILURE', NEW.database_id, NEW.plan_id WHERE NEW.database_id IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER task_outcome_changed AFTER UPDATE ON rowrun.task FOR EACH ROW
    WHEN (OLD.plan_id IS NOT NULL AND OLD.outcome IN ('FAILED', 'CANCELED') AND NOT OLD.skipped
          AND (NEW.outcome IS DISTINCT FROM OLD.outcome OR NEW.skipped))
    EXECUTE FUNCTION rowrun.task_outcome_changed();

-- A PENDING run that was moved or got another place in the order, a cancel asked of a RUNNING one.
CREATE FUNCTION rowrun.note_edit(database_id text, look boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF note_edit.database_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', note_edit.database_id);
    END IF;
    IF look THEN
        PERFORM rowrun.notify_look();
    END IF;
END $$;

-- New runs of a plan that are READY. The fill trigger calls it for the first that a transaction inserts.
CREATE FUNCTION rowrun.note_ready(plan_id bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO gate_mark (kind, plan_id) VALUES ('PLAN', note_ready.plan_id);
END $$;

CREATE FUNCTION rowrun.task_run_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    reopened boolean := false;
    counts_as text;
BEGIN
    IF OLD.plan_id IS NOT NULL THEN
        -- The last ended run goes, or a successor that waits: the run that it followed has now failed for good, in the
        -- round that is current. Without one, the times that remain are the best witness of what came before, and a
        -- failure that counts again has been counted in its own round.
        UPDATE rowrun.task t SET (outcome, outcome_run_id, outcome_round) = (
            SELECT r.status, r.id,
                   CASE WHEN r.status <> 'FAILED' THEN NULL
                        WHEN r.id = OLD.retry_of THEN (SELECT p.round FROM rowrun.plan p WHERE p.id = OLD.plan_id)
                        ELSE r.round END
            FROM rowrun.task_run r
            WHERE r.task_id = OLD.task_id AND r.plan_id IS NOT NULL AND coalesce(r.retry_run_id, OLD.id) = OLD.id
              AND r.status IN ('DONE', 'FAILED', 'CANCELED')
            ORDER BY r.id = OLD.retry_of DESC, r.finished_at DESC, r.id DESC LIMIT 1)
        WHERE t.id = OLD.task_id
          AND CASE WHEN OLD.status = 'PENDING' THEN EXISTS (SELECT FROM rowrun.task_run p WHERE p.id = OLD.retry_of)
                   ELSE coalesce(t.outcome_run_id, OLD.id) = OLD.id END
        RETURNING t.outcome INTO counts_as;
        reopened := FOUND;
        IF counts_as = 'FAILED' THEN
            PERFORM rowrun.mark_stopped(ARRAY[OLD.plan_id]);
        END IF;
    END IF;
    IF OLD.retry_of IS NOT NULL THEN
        UPDATE rowrun.task_run SET retry_run_id = NULL WHERE id = OLD.retry_of AND retry_run_id = OLD.id;
    END IF;
    IF OLD.status = 'PENDING' THEN
        reopened := true;
        IF OLD.database_id IS NOT NULL THEN
            INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', OLD.database_id);
        END IF;
    END IF;
    IF reopened THEN
        IF OLD.plan_id IS NOT NULL THEN -- its task may count as done again
            INSERT INTO rowrun.gate_mark (kind, task_id, plan_id) VALUES ('TASK', OLD.task_id, NULL), ('PLAN', NULL, OLD.plan_id);
        END IF;
        PERFORM rowrun.notify_look();
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER task_run_deleted AFTER DELETE ON rowrun.task_run FOR EACH ROW
    WHEN (OLD.plan_id IS NOT NULL OR OLD.retry_of IS NOT NULL OR (OLD.status = 'PENDING' AND OLD.database_id IS NOT NULL))
    EXECUTE FUNCTION rowrun.task_run_deleted();

-- A task that goes on, is skipped or is not skipped any more. Skipping is news for its plan: it may be complete, and
-- where its event was decided the next round begins. The pass sees to it; skip_task() has by then.
CREATE FUNCTION rowrun.task_gate_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NEW.skipped AND NOT OLD.skipped THEN
        UPDATE rowrun.task_run SET status = 'CANCELED', cancel_reason = coalesce('task skipped: ' || NEW.skip_reason, 'task skipped')
        WHERE task_id = NEW.id AND status = 'PENDING';
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('TASK', NEW.id);
    END IF;
    IF NEW.skipped IS DISTINCT FROM OLD.skipped AND NEW.plan_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id, round, by_run)
        SELECT 'PLAN', p.id, CASE WHEN p.announced_round >= p.round THEN least(p.round, 2147483646) + 1 END, false
        FROM rowrun.plan p WHERE p.id = NEW.plan_id;
        IF OLD.skipped AND NEW.outcome = 'FAILED' THEN -- it counts again
            PERFORM rowrun.mark_stopped(ARRAY[NEW.plan_id]);
        END IF;
    END IF;
    IF NEW.paused IS DISTINCT FROM OLD.paused THEN
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('PAUSE', NEW.id);
        IF NEW.database_id IS NOT NULL THEN
            INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', NEW.database_id);
        END IF;
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
CREATE TRIGGER task_gate_changed AFTER UPDATE ON rowrun.task FOR EACH ROW
    WHEN (NEW.paused IS DISTINCT FROM OLD.paused OR NEW.skipped IS DISTINCT FROM OLD.skipped)
    EXECUTE FUNCTION rowrun.task_gate_changed();

-- A plan that lost its last open task is complete.
CREATE FUNCTION rowrun.task_left_plan() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, plan_id) SELECT 'PLAN', p.id FROM rowrun.plan p WHERE p.id = OLD.plan_id;
    IF FOUND THEN
        PERFORM rowrun.notify_look();
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER task_deleted AFTER DELETE ON rowrun.task FOR EACH ROW WHEN (OLD.plan_id IS NOT NULL)
    EXECUTE FUNCTION rowrun.task_left_plan();
CREATE TRIGGER task_moved AFTER UPDATE OF plan_id ON rowrun.task FOR EACH ROW
    WHEN (OLD.plan_id IS NOT NULL AND NEW.plan_id IS DISTINCT FROM OLD.plan_id) EXECUTE FUNCTION rowrun.task_left_plan();

-- A plan that goes on, or has more room. Its sequential runs may also hold back others on their databases, or no more:
-- the pass finds out which databases those are, so that thousands of plans are paused and resumed by one UPDATE.
CREATE FUNCTION rowrun.plan_gate_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind, plan_id) VALUES ('GATE', NEW.id);
    IF NEW.on_failure <> OLD.on_failure THEN
        INSERT INTO rowrun.gate_mark (kind, plan_id, database_id)
        SELECT DISTINCT 'FAILURE', NEW.id, t.database_id FROM rowrun.task t
        WHERE t.plan_id = NEW.id AND t.database_id IS NOT NULL;
    END IF;
    IF NEW.parallel_limit IS NULL AND OLD.parallel_limit IS NOT NULL THEN
        -- Without a limit nothing needs a replica that could run it, but for what has a database.
        INSERT INTO rowrun.gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM rowrun.task t JOIN rowrun.task_run r ON r.task_id = t.id AND r.plan_id IS NOT NULL
        WHERE t.plan_id = NEW.id AND t.database_id IS NULL AND r.status = 'PENDING';
    END IF;
    -- A plan that waited for nothing but this is complete; the UPDATE holds it. One with an open task isn't: that is
    -- looked up along the index of open tasks, as due_event does, because the whole question takes a hundred times as long.
    IF OLD.paused AND NOT NEW.paused AND NEW.announced_round < NEW.round
       AND (SELECT o.id FROM rowrun.task o
            WHERE o.plan_id = NEW.id AND o.plan_id IS NOT NULL AND NOT o.skipped AND o.outcome IS DISTINCT FROM 'DONE'
            ORDER BY o.plan_id DESC, o.id DESC LIMIT 1) IS NULL
    THEN
        PERFORM rowrun.announce_plans(ARRAY[NEW.id]);
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
CREATE TRIGGER plan_gate_changed AFTER UPDATE ON rowrun.plan FOR EACH ROW
    WHEN (NEW.paused <> OLD.paused OR NEW.parallel_limit IS DISTINCT FROM OLD.parallel_limit OR NEW.on_failure <> OLD.on_failure)
    EXECUTE FUNCTION rowrun.plan_gate_changed();

CREATE FUNCTION rowrun.task_dependency_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    dependent bigint := CASE WHEN TG_OP = 'INSERT' THEN NEW.task_id ELSE OLD.task_id END;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO rowrun.gate_mark (kind, run_id)
        SELECT 'RUN', r.id FROM rowrun.task_run r WHERE r.task_id = dependent AND r.plan_id IS NOT NULL AND r.status = 'PENDING';
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    ELSE
        -- A run that is just being inserted can't be seen from here, and may be judged before this commits: the mark is
        -- left in any case.
        INSERT INTO rowrun.gate_mark (kind, task_id) VALUES ('DEPENDENT', dependent);
    END IF;
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
CREATE TRIGGER task_dependency_changed AFTER INSERT OR UPDATE OR DELETE ON rowrun.task_dependency
    FOR EACH ROW EXECUTE FUNCTION rowrun.task_dependency_changed();

-- A replica that came, came back after its lease had run out, or serves something new.
CREATE FUNCTION rowrun.replica_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    INSERT INTO rowrun.gate_mark (kind) VALUES ('REPLICA');
    PERFORM rowrun.notify_look();
    RETURN NULL;
END $$;
CREATE TRIGGER replica_came AFTER INSERT ON rowrun.replica_heartbeat
    FOR EACH ROW EXECUTE FUNCTION rowrun.replica_changed();
CREATE TRIGGER replica_changed AFTER UPDATE ON rowrun.replica_heartbeat FOR EACH ROW
    WHEN (NEW.state = 'ACTIVE'
          AND (OLD.last_heartbeat + OLD.lease < NEW.last_heartbeat
               OR NEW.state IS DISTINCT FROM OLD.state OR NEW.queues IS DISTINCT FROM OLD.queues OR NEW.types IS DISTINCT FROM OLD.types
               OR NEW.databases IS DISTINCT FROM OLD.databases OR NEW.commands IS DISTINCT FROM OLD.commands))
    EXECUTE FUNCTION rowrun.replica_changed();

COMMENT ON FUNCTION rowrun.may_notify() IS 'Internal: whether the server''s queue of notifications takes more.';
COMMENT ON FUNCTION rowrun.notify_look() IS 'Says "look" on rowrun_task_run.';
COMMENT ON FUNCTION rowrun.is_quiet() IS 'Internal: whether the session keeps quiet about what it inserts.';
COMMENT ON FUNCTION rowrun.task_run_inserted() IS 'Trigger, at commit: a new run says "look".';
COMMENT ON FUNCTION rowrun.transition(rowrun.task_run) IS 'Internal: the last edge of a run as it is notified.';
COMMENT ON FUNCTION rowrun.announce(text[]) IS 'Internal: notifies transitions.';
COMMENT ON FUNCTION rowrun.announce_parts(text[]) IS 'Internal: notifies transitions that one notification can''t hold, in as few as they fit.';
COMMENT ON FUNCTION rowrun.mark_ended(bigint[]) IS 'Internal: outcome of tasks and marks of what may start, after the end of runs.';
COMMENT ON FUNCTION rowrun.mark_stopped(bigint[]) IS 'Internal: marks of what may start where a failure stops plans.';
COMMENT ON FUNCTION rowrun.task_run_by_hand() IS 'Trigger: announces an edge written by hand; marks what it may open.';
COMMENT ON FUNCTION rowrun.note_edit(text, boolean) IS 'Internal: a PENDING run was moved, or a cancel asked of a RUNNING one.';
COMMENT ON FUNCTION rowrun.note_ready(bigint) IS 'Internal: a plan has new runs that may be READY.';
COMMENT ON FUNCTION rowrun.task_run_deleted() IS 'Trigger: what a deleted run leaves behind.';
COMMENT ON FUNCTION rowrun.task_outcome_changed() IS 'Trigger: a failed task was mended or skipped.';
COMMENT ON FUNCTION rowrun.task_gate_changed() IS 'Trigger: a task was paused, unpaused, skipped or unskipped.';
COMMENT ON FUNCTION rowrun.task_left_plan() IS 'Trigger: a task of a plan was deleted or moved.';
COMMENT ON FUNCTION rowrun.plan_gate_changed() IS 'Trigger: pause, limit or on_failure of a plan changed.';
COMMENT ON FUNCTION rowrun.task_dependency_changed() IS 'Trigger: a dependency came or went.';
COMMENT ON FUNCTION rowrun.replica_changed() IS 'Trigger: a replica came or serves something new.';

INSERT INTO rowrun.migration (version) VALUES (4);
