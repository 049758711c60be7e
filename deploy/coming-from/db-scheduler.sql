-- Moves what waits in db-scheduler's table to Rowrun: executions that nobody has picked, of the task names that are tasks here.
--
--     psql "$DATABASE_URL" -X -f deploy/coming-from/db-scheduler.sql               -- again whenever you like
--     psql "$DATABASE_URL" -X -v dry_run=on -v schema=jobs -v table=tasks -f …     -- look first; its schema and table
--
-- One transaction. A moved execution is deleted there, as db-scheduler deletes what is done. Executions that are picked or
-- deactivated stay; so do recurring ones, which are schedules here. The run's input is {"instance": …, "data": …}: data as JSON
-- where it is that, otherwise data_base64. docs/coming-from/db-scheduler.md has the rest.
\set ON_ERROR_STOP on
\if :{?schema} \else \set schema public \endif
\if :{?table} \else \set table scheduled_tasks \endif
\if :{?dry_run} \else \set dry_run off \endif
BEGIN;

-- task_data is what the program's serializer made of it: Java's by default, which no other program reads, or JSON.
CREATE FUNCTION pg_temp.as_data(data bytea) RETURNS jsonb LANGUAGE plpgsql STRICT AS $$
BEGIN
    RETURN jsonb_build_object('data', convert_from(data, 'UTF8')::jsonb);
EXCEPTION WHEN data_exception THEN
    RETURN jsonb_build_object('data_base64', translate(encode(data, 'base64'), E'\n', ''));
END $$;

-- An execution that is being picked is passed by. The instance is its name: unique in its task. priority is of later versions
-- than the table, and 0 becomes the task's.
CREATE TEMP TABLE pending_job ON COMMIT DROP AS
SELECT json_build_array(s.task_name, s.task_instance)::text AS old_id, s.task_name AS task,
       jsonb_build_object('instance', s.task_instance) || coalesce(pg_temp.as_data(s.task_data), '{}') AS data,
       s.execution_time AS run_at, nullif((to_jsonb(s) ->> 'priority')::integer, 0) AS priority, s.task_instance AS key, true AS own_key,
       CASE WHEN s.task_instance = 'recurring' THEN 'it recurs: give the task a schedule, and delete the row'
            WHEN s.task_instance = '' THEN 'its instance has no name' END AS leave
FROM :"schema".:"table" s
WHERE NOT s.picked AND s.execution_time IS NOT NULL
FOR UPDATE SKIP LOCKED;

\ir move.sql

DELETE FROM :"schema".:"table" s USING pg_temp.moved_job m
WHERE s.task_name = m.old_id::json ->> 0 AND s.task_instance = m.old_id::json ->> 1;

\ir report.sql
