-- Runs that wait for other runs, and what a plan ends with.
ALTER TABLE rowrun.task_run ADD COLUMN after bigint[];
ALTER TABLE rowrun.task_run ADD COLUMN awaited boolean;
COMMENT ON COLUMN rowrun.task_run.after IS 'Runs whose jobs must be DONE before it is AVAILABLE: at its INSERT any run of each job, then the first runs of those that were not DONE; NULL: it waits for none.';
COMMENT ON COLUMN rowrun.task_run.awaited IS 'Internal: others may wait for the end of its job, which then leaves marks.';
CREATE TABLE rowrun.run_after (
    run_id  bigint NOT NULL,
    root_id bigint NOT NULL,
    watched boolean NOT NULL DEFAULT false,
    open    boolean NOT NULL DEFAULT true,
    outcome text,
    PRIMARY KEY (run_id, root_id)
);
CREATE INDEX run_after_root ON rowrun.run_after (root_id);
CREATE INDEX run_after_open ON rowrun.run_after (run_id) WHERE open;
COMMENT ON TABLE rowrun.run_after IS 'For which jobs a run waits or has waited (task_run.after).';
COMMENT ON COLUMN rowrun.run_after.run_id IS 'The run that waits.';
COMMENT ON COLUMN rowrun.run_after.root_id IS 'The first run of the job that it waits for.';
COMMENT ON COLUMN rowrun.run_after.watched IS 'Internal: the end of that job is sure to find this row.';
COMMENT ON COLUMN rowrun.run_after.open IS 'Internal: the run may still wait, so that sweeps look at it.';
COMMENT ON COLUMN rowrun.run_after.outcome IS 'The last status of a job that was deleted without being DONE.';
ALTER TABLE rowrun.task_run ADD COLUMN age_at timestamptz;
COMMENT ON COLUMN rowrun.task_run.age_at IS 'Internal: when its priority grows next, if it still waits; NULL: it doesn''t.';
CREATE INDEX task_run_age ON rowrun.task_run (age_at) WHERE age_at IS NOT NULL AND status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text]);
ALTER TABLE rowrun.task_run
    ADD COLUMN limit_keys text[],
    ADD COLUMN limit_wait text;
COMMENT ON COLUMN rowrun.task_run.limit_keys IS 'Internal: the limits that apply to it, each with its key, as drawn at the INSERT; NULL: none.';
COMMENT ON COLUMN rowrun.task_run.limit_wait IS 'Internal: the one that holds it back: of a PENDING run where the cause is LIMIT, of an AVAILABLE one where a limit was made or lowered after it had become that.';
COMMENT ON COLUMN rowrun.task_run.cause IS 'Internal: what the last judgement left a PENDING run waiting for; PLAN: for its plan alone (PLAN_LIMIT, PAUSED, PLAN_FAILED of it); DATABASE: for the runs on its database (VERSION, DATABASE_BUSY); LIMIT: for a limit (LIMIT, RATE_LIMIT); others: that cause. Of an AVAILABLE run UNTOLD: its INSERT made it so, and nobody has been notified of that.';
-- The runs that a limit may let go next, in the order of promotion.
CREATE INDEX task_run_limit_wait ON rowrun.task_run (limit_wait, status, priority DESC, run_at, id)
    WHERE limit_wait IS NOT NULL AND status = ANY (ARRAY['PENDING'::text, 'AVAILABLE'::text]);
