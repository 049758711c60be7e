-- waiting
-- Why a run is not running: all causes that hold.
-- $1 bigint: run
-- Returns: rows by name store.Cause
SELECT run_id, cause, message, detail FROM rowrun.waiting($1)
