-- Moves what waits in River to Rowrun: available, retryable and scheduled jobs of the kinds that are tasks here.
--
--     psql "$DATABASE_URL" -X -f deploy/coming-from/river.sql                      -- again whenever you like
--     psql "$DATABASE_URL" -X -v dry_run=on -v schema=jobs -f …                    -- look first; River's schema
--
-- One transaction. A moved job is cancelled in River, and its metadata has the key rowrun_run_id. Jobs that run or are
-- pending stay, and so do kinds without a task of that name. docs/coming-from/river.md has the rest.
\set ON_ERROR_STOP on
\if :{?schema} \else \set schema public \endif
\if :{?dry_run} \else \set dry_run off \endif
BEGIN;

-- River takes jobs with SKIP LOCKED: what it has locked it runs, what is locked here it passes by. Its priority 1 is the
-- highest of 4 and the usual one: that becomes the task's.
CREATE TEMP TABLE pending_job ON COMMIT DROP AS
SELECT j.id::text AS old_id, j.kind AS task, j.args AS data, j.scheduled_at AS run_at, nullif(1 - j.priority, 0) AS priority,
       format('river %s %s %s', :'schema', j.id, extract(epoch FROM j.created_at)) AS key, false AS own_key,
       NULL::text AS leave
FROM :"schema".river_job j
WHERE j.state IN ('available', 'retryable', 'scheduled')
FOR UPDATE SKIP LOCKED;

\ir move.sql

UPDATE :"schema".river_job j SET state = 'cancelled', finalized_at = now(), metadata = j.metadata || jsonb_build_object('rowrun_run_id', m.run_id)
FROM pg_temp.moved_job m WHERE j.id = m.old_id::bigint;

\ir report.sql
