-- append_log
-- Adds a row to the log of a run.
-- $1 bigint: the run
-- $2 text: the replica
-- $3 text: the kind of entry
-- $4 jsonb: what it says
-- Returns: nothing
INSERT INTO rowrun.task_run_log (task_run_id, replica_id, type, detail) VALUES ($1, $2, $3, $4)
