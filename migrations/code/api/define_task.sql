CREATE OR REPLACE FUNCTION rowrun.define_task(name text, type text, payload jsonb DEFAULT '{}', queue text DEFAULT NULL,
    database_id text DEFAULT NULL, version text DEFAULT NULL, sequential boolean DEFAULT NULL, priority integer DEFAULT NULL,
    timeout interval DEFAULT NULL, progress_timeout interval DEFAULT NULL, max_attempts integer DEFAULT NULL,
    retry_delay interval DEFAULT NULL, on_stale text DEFAULT NULL, labels jsonb DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made bigint;
BEGIN
    IF coalesce(define_task.name, '') = '' THEN
        RAISE EXCEPTION 'define_task needs a name' USING ERRCODE = 'RR003', HINT = 'The name is how run_task finds it.';
    END IF;
    INSERT INTO rowrun.task AS k (name, type, payload, queue, database_id, version, sequential, priority, timeout,
                                  progress_timeout, max_attempts, retry_delay, on_stale, labels)
    VALUES (define_task.name, define_task.type, define_task.payload, define_task.queue, define_task.database_id,
            define_task.version, define_task.sequential, define_task.priority, define_task.timeout,
            define_task.progress_timeout, define_task.max_attempts, define_task.retry_delay, define_task.on_stale,
            define_task.labels)
    ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO UPDATE
    SET type = excluded.type, payload = excluded.payload, queue = excluded.queue, database_id = excluded.database_id,
        version = excluded.version, sequential = excluded.sequential, priority = excluded.priority,
        timeout = excluded.timeout, progress_timeout = excluded.progress_timeout, max_attempts = excluded.max_attempts,
        retry_delay = excluded.retry_delay, on_stale = excluded.on_stale, labels = excluded.labels
    WHERE (k.type, k.payload, k.queue, k.database_id, k.version, k.sequential, k.priority, k.timeout, k.progress_timeout,
           k.max_attempts, k.retry_delay, k.on_stale, k.labels)
          IS DISTINCT FROM
          (excluded.type, excluded.payload, excluded.queue, excluded.database_id, excluded.version, excluded.sequential,
           excluded.priority, excluded.timeout, excluded.progress_timeout, excluded.max_attempts, excluded.retry_delay,
           excluded.on_stale, excluded.labels)
    RETURNING k.id INTO made;
    IF made IS NULL THEN
        SELECT k.id INTO made FROM rowrun.task k WHERE k.name = define_task.name AND k.plan_id IS NULL;
    END IF;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.define_task(text, text, jsonb, text, text, text, boolean, integer, interval, interval, integer, interval, text, jsonb) IS 'Makes a task without a plan, or brings it up to date; its id. For migration files.';
