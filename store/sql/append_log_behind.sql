-- append_log_behind
-- append_log where the sequence of ids is behind its table.
-- $1 bigint: the run
-- $2 text: the replica
-- $3 text: the kind of entry
-- $4 jsonb: what it says
-- Returns: nothing
INSERT INTO rowrun.task_run_log (id, task_run_id, replica_id, type, detail) VALUES (rowrun.next_log_id(), $1, $2, $3, $4)
