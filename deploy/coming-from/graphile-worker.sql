-- Moves what waits in graphile-worker (0.16 and later) to Rowrun: jobs that nobody has locked and that have attempts left, of the
-- task identifiers that are tasks here.
--
--     psql "$DATABASE_URL" -X -f deploy/coming-from/graphile-worker.sql            -- again whenever you like
--     psql "$DATABASE_URL" -X -v dry_run=on -v schema=worker -f …                  -- look first; its schema
--     psql "$DATABASE_URL" -X -v serial=ignore -f …                                -- jobs of named queues too
--
-- One transaction. A moved job is deleted there, as graphile-worker deletes what is done. Jobs that are locked or have failed
-- for good stay; so do those of a named queue, which run one at a time, unless the task is sequential.
-- docs/coming-from/graphile-worker.md has the rest.
\set ON_ERROR_STOP on
\if :{?schema} \else \set schema graphile_worker \endif
\if :{?serial} \else \set serial keep \endif
\if :{?dry_run} \else \set dry_run off \endif
BEGIN;

-- What json takes and jsonb doesn't, such as \u0000, is NULL.
CREATE FUNCTION pg_temp.as_jsonb(data json) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    RETURN data::jsonb;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

-- Its workers take jobs with SKIP LOCKED. A smaller priority is a higher one there, and 0 becomes the task's. A job's key is its name,
-- by which replace_run finds it here.
CREATE TEMP TABLE pending_job ON COMMIT DROP AS
SELECT j.id::text AS old_id, t.identifier AS task, pg_temp.as_jsonb(j.payload) AS data, j.run_at, nullif(-j.priority::integer, 0) AS priority,
       coalesce(j.key, format('graphile-worker %s %s %s', :'schema', j.id, extract(epoch FROM j.created_at))) AS key, j.key IS NOT NULL AS own_key,
       CASE WHEN pg_temp.as_jsonb(j.payload) IS NULL THEN 'its payload is no jsonb'
            WHEN j.job_queue_id IS NOT NULL AND :'serial' <> 'ignore' AND NOT EXISTS (
                SELECT FROM rowrun.task k WHERE k.name = t.identifier AND k.name <> '' AND k.plan_id IS NULL AND k.sequential)
            THEN 'its queue runs one at a time: make the task sequential, or say -v serial=ignore' END AS leave
FROM :"schema"._private_jobs j JOIN :"schema"._private_tasks t ON t.id = j.task_id
WHERE j.locked_at IS NULL AND j.attempts < j.max_attempts
FOR UPDATE OF j SKIP LOCKED;

\ir move.sql

DELETE FROM :"schema"._private_jobs j USING pg_temp.moved_job m WHERE j.id = m.old_id::bigint;

\ir report.sql
