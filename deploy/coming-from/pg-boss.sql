-- Moves what waits in pg-boss (10 and later) to Rowrun: jobs in state created or retry, of the queues that are tasks here.
--
--     psql "$DATABASE_URL" -X -f deploy/coming-from/pg-boss.sql                    -- again whenever you like
--     psql "$DATABASE_URL" -X -v dry_run=on -v schema=boss -f …                    -- look first; its schema
--
-- One transaction. A moved job is cancelled in pg-boss, and its output has the key rowrun_run_id. Active jobs stay, and so do those
-- that wait for others or others for them. docs/coming-from/pg-boss.md has the rest.
\set ON_ERROR_STOP on
\if :{?schema} \else \set schema pgboss \endif
\if :{?dry_run} \else \set dry_run off \endif
BEGIN;

-- Its workers take jobs with SKIP LOCKED. Priority 0 becomes the task's. Dependencies between jobs are
-- of later versions than the table.
CREATE TEMP TABLE pending_job ON COMMIT DROP AS
SELECT j.id::text AS old_id, j.name AS task, j.data, j.start_after AS run_at, nullif(j.priority, 0) AS priority,
       format('pg-boss %s %s', :'schema', j.id) AS key,
       false AS own_key,
       CASE WHEN to_jsonb(j) ->> 'blocked' = 'true' OR to_jsonb(j) ->> 'blocking' = 'true' THEN 'it waits for other jobs, or they for it' END AS leave
FROM :"schema".job j
WHERE j.state IN ('created', 'retry')
FOR UPDATE SKIP LOCKED;

\ir move.sql

UPDATE :"schema".job j SET state = 'cancelled', completed_on = now(), output = jsonb_build_object('rowrun_run_id', m.run_id)
FROM pg_temp.moved_job m WHERE j.id = m.old_id::uuid AND j.state IN ('created', 'retry');

\ir report.sql
