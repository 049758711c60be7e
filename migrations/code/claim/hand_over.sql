-- What its executor gets: the task's payload, with the run's input laid over it but for what decides what is executed.
CREATE OR REPLACE FUNCTION rowrun.payload_of(r rowrun.task_run, k rowrun.task) RETURNS jsonb LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN k.state IS NULL THEN k.payload ELSE jsonb_build_object('state', k.state) || k.payload END
        || CASE WHEN r.type IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') THEN r.input - '{sql,transaction,command}'::text[] ELSE r.input END;
COMMENT ON FUNCTION rowrun.payload_of(rowrun.task_run, rowrun.task) IS 'Internal: what the executor of a run gets.';

-- Why a run must not be executed, NULL: it may. Its input was written for what its task was when it was inserted, and for
-- nothing that the task's author has made of it since: type, target and payload are read from one version of the task's row.
-- other_type: the task is of another type now, which isn't the run's renamed (rowrun.task_type says so); asked by the
-- caller, because a function with a query in it isn't inlined.
CREATE OR REPLACE FUNCTION rowrun.unfit(r rowrun.task_run, k rowrun.task, other_type boolean) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN (CASE
        WHEN other_type
            THEN format('task type changed from %s to %s after the run was inserted: insert it again', r.type, k.type)
        WHEN r.type NOT IN ('SQL', 'DATABASE_MIGRATE', 'COMMAND') THEN NULL
        WHEN r.type <> 'COMMAND' AND r.database_id IS DISTINCT FROM k.database_id
            THEN format('the task''s database_id changed from %s to %s after the run was inserted: insert it again',
                        coalesce(r.database_id, 'none'), coalesce(k.database_id, 'none'))
        WHEN r.type = 'DATABASE_MIGRATE' AND r.version IS DISTINCT FROM k.version
            THEN format('the task''s version changed from %s to %s after the run was inserted: insert it again', r.version, k.version)
        WHEN r.input ?| '{sql,transaction,command}'
            THEN format('the input of a %s run names sql, transaction or command, which belong to the task''s payload: insert it again without', r.type)
    END);
COMMENT ON FUNCTION rowrun.unfit(rowrun.task_run, rowrun.task, boolean) IS 'Internal: why a run must not be executed.';
