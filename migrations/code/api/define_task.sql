CREATE OR REPLACE FUNCTION rowrun.define_task(name text, type text, payload jsonb DEFAULT '{}', queue text DEFAULT NULL,
    database_id text DEFAULT NULL, version text DEFAULT NULL, sequential boolean DEFAULT NULL, priority integer DEFAULT NULL,
    timeout interval DEFAULT NULL, progress_timeout interval DEFAULT NULL, max_attempts integer DEFAULT NULL,
    retry_delay interval DEFAULT NULL, on_stale text DEFAULT NULL, labels jsonb DEFAULT NULL)
    RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
DECLARE
    known bigint;
    made bigint;
    replaced text; -- what it had
BEGIN
    IF coalesce(define_task.name, '') = '' THEN
        RAISE EXCEPTION 'define_task needs a name' USING ERRCODE = 'RR003', HINT = 'The name is how run_task finds it.';
    END IF;
    LOOP
        -- A look first: the INSERT of a task that exists would draw an id at each call. INSERT and UPDATE both run even where
        -- nothing is to be changed, so that the answer of rights is the same whatever stands in the table.
        SELECT k.id, concat_ws(', ',
                   CASE WHEN k.type <> define_task.type THEN 'type ' || k.type END,
                   CASE WHEN k.payload <> coalesce(define_task.payload, '{}') THEN 'payload' END,
                   CASE WHEN k.queue <> coalesce(define_task.queue, 'default') THEN 'queue ' || k.queue END,
                   CASE WHEN k.database_id IS DISTINCT FROM define_task.database_id THEN 'database_id ' || coalesce(k.database_id, 'NULL') END,
                   CASE WHEN k.version IS DISTINCT FROM define_task.version THEN 'version ' || coalesce(k.version, 'NULL') END,
                   CASE WHEN k.sequential <> coalesce(define_task.sequential, define_task.type = 'DATABASE_MIGRATE') THEN 'sequential ' || k.sequential END,
                   CASE WHEN k.priority <> coalesce(define_task.priority, 0) THEN 'priority ' || k.priority END,
                   CASE WHEN k.timeout IS DISTINCT FROM define_task.timeout THEN 'timeout ' || coalesce(k.timeout::text, 'NULL') END,
                   CASE WHEN k.progress_timeout IS DISTINCT FROM define_task.progress_timeout THEN 'progress_timeout ' || coalesce(k.progress_timeout::text, 'NULL') END,
                   CASE WHEN k.max_attempts <> coalesce(define_task.max_attempts, 1) THEN 'max_attempts ' || k.max_attempts END,
                   CASE WHEN k.retry_delay <> coalesce(define_task.retry_delay, '10 s') THEN 'retry_delay ' || k.retry_delay END,
                   CASE WHEN k.on_stale <> coalesce(define_task.on_stale, 'FAIL') THEN 'on_stale ' || k.on_stale END,
                   CASE WHEN k.labels <> coalesce(define_task.labels, '{}') THEN 'labels' END)
        INTO known, replaced FROM rowrun.task k WHERE k.name = define_task.name AND k.plan_id IS NULL;
        INSERT INTO rowrun.task AS k (name, type, payload, queue, database_id, version, sequential, priority, timeout,
                                      progress_timeout, max_attempts, retry_delay, on_stale, labels)
        SELECT define_task.name, define_task.type, define_task.payload, define_task.queue, define_task.database_id,
               define_task.version, define_task.sequential, define_task.priority, define_task.timeout,
               define_task.progress_timeout, define_task.max_attempts, define_task.retry_delay, define_task.on_stale, define_task.labels
        WHERE known IS NULL
        ON CONFLICT (name) WHERE name <> '' AND plan_id IS NULL DO NOTHING
        RETURNING k.id INTO made;
        EXIT WHEN FOUND;
        UPDATE rowrun.task k
        SET type = define_task.type, payload = define_task.payload, queue = define_task.queue, database_id = define_task.database_id,
            version = define_task.version, sequential = define_task.sequential, priority = define_task.priority,
            timeout = define_task.timeout, progress_timeout = define_task.progress_timeout, max_attempts = define_task.max_attempts,
            retry_delay = define_task.retry_delay, on_stale = define_task.on_stale, labels = define_task.labels
        WHERE k.id = known AND k.name = define_task.name AND k.plan_id IS NULL
        RETURNING k.id INTO made;
        IF FOUND AND replaced <> '' THEN
            RAISE NOTICE 'define_task: task "%" (id %) is brought up to date; it had another: %', define_task.name, made, replaced;
        END IF;
        EXIT WHEN made IS NOT NULL;
    END LOOP;
    RETURN made;
END $$;
COMMENT ON FUNCTION rowrun.define_task(text, text, jsonb, text, text, text, boolean, integer, interval, interval, integer, interval, text, jsonb) IS 'Makes a task without a plan, or brings it up to date; its id. For migration files.';
