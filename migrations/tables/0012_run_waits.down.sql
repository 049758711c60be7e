-- What a limit held back is judged anew, without it.
UPDATE rowrun.task_run SET cause = NULL, judge_at = least(run_at, now()), prev_status = NULL WHERE status = 'PENDING' AND cause = 'LIMIT';
DROP INDEX rowrun.task_run_limit_wait;
ALTER TABLE rowrun.task_run DROP COLUMN limit_keys, DROP COLUMN limit_wait;
COMMENT ON COLUMN rowrun.task_run.cause IS 'Internal: what the last judgement left a PENDING run waiting for; PLAN: for its plan alone (PLAN_LIMIT, PAUSED, PLAN_FAILED of it); DATABASE: for the runs on its database (VERSION, DATABASE_BUSY); others: that cause. Of an AVAILABLE run UNTOLD: its INSERT made it so, and nobody has been notified of that.';
ALTER TABLE rowrun.task_run DROP COLUMN age_at;
DROP TABLE rowrun.run_after;
ALTER TABLE rowrun.task_run DROP COLUMN awaited;
ALTER TABLE rowrun.task_run DROP COLUMN after;
