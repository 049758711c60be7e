-- Words that people mistype, with what to do about it: the CHECKs of the table would refuse the same, and say less.
CREATE OR REPLACE FUNCTION rowrun.check_task_words(k rowrun.task) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    near text;
BEGIN
    IF k.version !~ '^[0-9]{1,20}([.][0-9]{1,20}){0,9}$' THEN
        RAISE EXCEPTION 'version "%" of a task is not numbers and dots', left(k.version, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_version_numbers_and_dots',
            HINT = 'Such as 1.10: versions are compared number by number, so that 1.10 comes after 1.9.';
    ELSIF k.type = 'DATABASE_MIGRATE' AND num_nonnulls(k.version, k.database_id) < 2 THEN
        RAISE EXCEPTION 'a DATABASE_MIGRATE task needs version and database_id' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_migrate_needs_target',
            HINT = 'database_id is a name of --config''s databases, version orders the migrations of it.';
    ELSIF k.database_id IS NULL AND (k.version IS NOT NULL OR k.sequential) THEN
        RAISE EXCEPTION 'version and sequential order the runs of a database: the task needs database_id' USING ERRCODE = 'check_violation', CONSTRAINT = 'task_order_needs_database',
            HINT = 'For types other than SQL and DATABASE_MIGRATE database_id is only a name to order by.';
    ELSIF k.on_stale NOT IN ('FAIL', 'RETRY', 'CANCEL') AND k.on_stale NOT ILIKE 'function%' THEN -- of that task_recovery_check tells more
        RAISE EXCEPTION 'on_stale "%" of a task is none of FAIL, RETRY, CANCEL', left(k.on_stale, 100) USING ERRCODE = 'check_violation', CONSTRAINT = 'task_on_stale_fail_retry_or_cancel',
            HINT = 'RETRY: the run may begin again where its replica was lost. FAIL, the default: nobody knows how far it came.';
    ELSIF k.max_attempts < 1 THEN
        RAISE EXCEPTION 'max_attempts of a task is at least 1, not %', k.max_attempts USING ERRCODE = 'check_violation', CONSTRAINT = 'task_max_attempts_from_1',
            HINT = '1, the default: no retry.';
    END IF;
    IF k.type IN ('NOOP', 'SQL', 'DATABASE_MIGRATE', 'HTTP', 'COMMAND') THEN
        RETURN;
    END IF;
    near := replace(replace(upper(btrim(k.type) COLLATE "C"), '-', '_'), ' ', '_');
    IF near NOT IN ('NOOP', 'SQL', 'DATABASE_MIGRATE', 'HTTP', 'COMMAND') THEN
        SELECT y INTO near FROM replica_heartbeat h CROSS JOIN unnest(h.types) y
        WHERE h.state <> 'DEAD' AND lower(y) = lower(k.type)
        ORDER BY y = k.type DESC LIMIT 1;
        IF near = k.type THEN
            near := NULL;
        END IF;
    END IF;
    IF near IS NOT NULL THEN
        RAISE NOTICE 'type "%" is a type of your own, which nobody may run: did you mean %?', left(k.type, 100), left(near, 100)
            USING HINT = 'Types are told apart by case. Runs of a type that nobody runs wait: SELECT * FROM rowrun.waiting().';
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.check_task_words(rowrun.task) IS 'Internal: says what is wrong with the words of a task, and what was meant.';
