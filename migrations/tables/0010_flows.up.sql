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

ALTER TABLE rowrun.plan ADD COLUMN on_finish_task text;
COMMENT ON COLUMN rowrun.plan.on_finish_task IS 'Name or id of a task without a plan that is run once for each round of the plan, when the round is complete or has failed, with the round as its input.';
