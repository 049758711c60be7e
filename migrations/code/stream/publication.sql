-- What the stream reads from the write-ahead log, how far it was written, and who is woken how.

-- Of each run the columns that a line needs. The replica identity stays the key: FULL with a list of columns would make
-- users' UPDATEs fail. result is among them for its code and detail, although a DONE run's is sent for nothing: the
-- transition is told by the new row alone, which is what makes it exact.
CREATE PUBLICATION rowrun_stream FOR TABLE rowrun.task_run
    (id, task_id, attempt, retry_of, root_id, status, plan_id, type, queue, database_id, version, replica_id,
     created_at, run_at, available_at, started_at, finished_at, result, prev_status, retry_run_id)
    WITH (publish = 'insert, update');
COMMENT ON PUBLICATION rowrun_stream IS 'What `rowrun serve` reads for the stream, by a slot of its own.';
