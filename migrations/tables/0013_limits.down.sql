DELETE FROM rowrun.gate_mark WHERE kind = 'LIMIT';
ALTER TABLE rowrun.gate_mark
    DROP COLUMN limit_key,
    DROP CONSTRAINT gate_mark_kind_check,
    ADD CONSTRAINT gate_mark_kind_check CHECK (kind = ANY (ARRAY['RUN'::text, 'TASK'::text, 'DATABASE'::text, 'PLAN'::text, 'PLAN_CHANGED'::text, 'DEPENDENCY'::text, 'PLAN_FAILED'::text, 'PAUSED'::text, 'NO_REPLICA'::text]));
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN release;
-- What a limit held back is judged anew, without it.
UPDATE rowrun.task_run SET cause = NULL, judge_at = least(run_at, now()), prev_status = NULL WHERE status = 'PENDING' AND cause = 'LIMIT';
DROP INDEX rowrun.task_run_limit_wait;
ALTER TABLE rowrun.task_run DROP COLUMN limit_keys, DROP COLUMN limit_wait;
COMMENT ON COLUMN rowrun.task_run.cause IS 'Internal: what the last judgement left a PENDING run waiting for; PLAN: for its plan alone (PLAN_LIMIT, PAUSED, PLAN_FAILED of it); DATABASE: for the runs on its database (VERSION, DATABASE_BUSY); others: that cause. Of an AVAILABLE run UNTOLD: its INSERT made it so, and nobody has been notified of that.';
DROP TABLE rowrun.limit_bucket, rowrun.limit_holder, rowrun.concurrency_limit;
