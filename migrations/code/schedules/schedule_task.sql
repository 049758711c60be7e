-- Recurring tasks. A schedule's next run is an ordinary PENDING row that says in tick which moment of the schedule it
-- stands for. It is made in the transaction that ends the run before it or changes the task, and two unique indexes
-- make it one: per task and tick, and per task one that is unfinished.

-- Cancels a PENDING run whose tick is not to be run, and says so; what follows it, the caller sees to. An edge that is
-- written out needs no trigger, which would make the run that follows.
CREATE OR REPLACE FUNCTION rowrun.cancel_tick(run_id bigint, reason text) RETURNS boolean LANGUAGE plpgsql
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    run rowrun.task_run;
BEGIN
    UPDATE rowrun.task_run r
    SET status = 'CANCELED', prev_status = 'PENDING', edited_directly = NULL, finished_at = t, updated_at = greatest(t, r.updated_at + interval '1 us'),
        cause = NULL, judge_at = NULL, cancel_reason = reason,
        result = jsonb_build_object('code', 'CANCELED', 'detail', 'Task run canceled: ' || reason)
    WHERE r.id = cancel_tick.run_id AND coalesce(r.status, '') = 'PENDING'
    RETURNING r.* INTO run;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM announce(ARRAY[transition(run)]);
    IF run.database_id IS NOT NULL THEN
        INSERT INTO rowrun.gate_mark (kind, database_id) VALUES ('DATABASE', run.database_id);
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION rowrun.cancel_tick(bigint, text) IS 'Internal: cancels a waiting run for its schedule.';

-- Brings the waiting run of a task in line with its schedule: makes it, moves it, or cancels it. A run that is
-- AVAILABLE or RUNNING is left alone, as its end makes the next, and so is a retry while the schedule goes on. anew: the run
-- carries what has changed of the task, and is replaced.
CREATE OR REPLACE FUNCTION rowrun.schedule_task(task_id bigint, moved boolean, anew boolean) RETURNS boolean LANGUAGE plpgsql
    SET enable_seqscan = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t timestamptz := clock_timestamp();
    k rowrun.task;
    run rowrun.task_run;
    nothing rowrun.task_run;
    wanted timestamptz;
    due timestamptz;
BEGIN
    SELECT x.* INTO k FROM rowrun.task x WHERE x.id = schedule_task.task_id FOR NO KEY UPDATE;
    SELECT r.* INTO run FROM rowrun.task_run r
    WHERE r.task_id = k.id AND r.tick IS NOT NULL AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING');
    IF run.status <> 'PENDING' THEN
        RETURN false;
    END IF;
    IF run.id IS NOT NULL AND (NOT moved OR run.attempt > 0) AND run.tick <= coalesce(k.ends_at, 'infinity') AND NOT k.skipped
       AND coalesce(cardinality(k.schedule_parts), 0) > 0 THEN
        wanted := run.tick;
        due := run.run_at;
    ELSE
        wanted := rowrun.tick_that_follows(k, nothing, t);
        due := wanted + rowrun.spread_of(k);
    END IF;
    PERFORM set_config('rowrun.scheduling', 'on', true);
    IF run.id IS NOT NULL AND (wanted IS NULL OR anew AND run.attempt = 0) THEN
        IF NOT rowrun.cancel_tick(run.id, CASE WHEN wanted IS NULL THEN 'its schedule ended' ELSE 'its task was changed' END) THEN
            wanted := NULL;
        END IF;
        run := nothing;
    END IF;
    IF run.attempt = 0 THEN
        UPDATE rowrun.task_run r SET tick = wanted, run_at = due, missed_at = rowrun.missed_at(k, due)
        WHERE r.id = run.id AND coalesce(r.status, '') = 'PENDING';
    ELSIF run.id IS NULL AND wanted IS NOT NULL THEN
        INSERT INTO rowrun.task_run (id, task_id, tick, run_at, missed_at) VALUES (rowrun.next_run_id(), k.id, wanted, due, rowrun.missed_at(k, due))
        ON CONFLICT DO NOTHING;
    END IF;
    PERFORM set_config('rowrun.scheduling', 'off', true);
    RETURN wanted IS NOT NULL;
END $$;
COMMENT ON FUNCTION rowrun.schedule_task(bigint, boolean, boolean) IS 'Internal: makes, moves or cancels the waiting run of a schedule.';

CREATE OR REPLACE FUNCTION rowrun.task_scheduled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, rowrun, pg_temp
    SET enable_seqscan = off
AS $$
DECLARE
    nothing rowrun.task_run;
    coming timestamptz;
BEGIN
    IF TG_OP = 'INSERT' THEN
        coming := tick_that_follows(NEW, nothing, clock_timestamp());
        IF coming IS NOT NULL THEN
            PERFORM set_config('rowrun.scheduling', 'on', true);
            INSERT INTO task_run (id, task_id, tick, run_at, missed_at) VALUES (next_run_id(), NEW.id, coming, coming + spread_of(NEW), missed_at(NEW, coming + spread_of(NEW)));
            PERFORM set_config('rowrun.scheduling', 'off', true);
        END IF;
    ELSE
        IF NEW.spread IS DISTINCT FROM OLD.spread AND spread_of(NEW) <> spread_of(OLD) THEN
            -- The run that waits stays that of its tick; one that somebody put off is put off from where it was.
            UPDATE task_run r SET run_at = r.run_at + (spread_of(NEW) - spread_of(OLD))
            WHERE r.task_id = NEW.id AND r.tick IS NOT NULL AND r.attempt = 0 AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')
              AND coalesce(r.status, '') = 'PENDING';
        END IF;
        PERFORM schedule_task(NEW.id,
            NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at,
            (NEW.type, NEW.queue, NEW.database_id, NEW.version, NEW.sequential, NEW.priority)
                IS DISTINCT FROM (OLD.type, OLD.queue, OLD.database_id, OLD.version, OLD.sequential, OLD.priority));
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION rowrun.task_scheduled() IS 'Trigger: the waiting run follows its task''s schedule.';
CREATE OR REPLACE TRIGGER task_scheduled AFTER INSERT ON rowrun.task FOR EACH ROW
    WHEN (NEW.schedule IS NOT NULL) EXECUTE FUNCTION rowrun.task_scheduled();
CREATE OR REPLACE TRIGGER task_rescheduled AFTER UPDATE ON rowrun.task FOR EACH ROW
    WHEN ((NEW.schedule IS NOT NULL OR OLD.schedule IS NOT NULL)
          AND (NEW.scheduled_at IS DISTINCT FROM OLD.scheduled_at OR NEW.misfire IS DISTINCT FROM OLD.misfire OR NEW.spread IS DISTINCT FROM OLD.spread OR NEW.ends_at IS DISTINCT FROM OLD.ends_at
               OR NEW.skipped IS DISTINCT FROM OLD.skipped OR NEW.type IS DISTINCT FROM OLD.type OR NEW.queue IS DISTINCT FROM OLD.queue
               OR NEW.database_id IS DISTINCT FROM OLD.database_id OR NEW.version IS DISTINCT FROM OLD.version OR NEW.sequential IS DISTINCT FROM OLD.sequential
               OR NEW.priority IS DISTINCT FROM OLD.priority))
    EXECUTE FUNCTION rowrun.task_scheduled();
