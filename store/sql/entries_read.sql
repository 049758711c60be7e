-- entries_read
-- What the searches of this transaction have cost so far.
-- Returns: how many entries of the index of AVAILABLE runs it has read, 0 where track_counts is off; the time
SELECT coalesce(pg_stat_get_xact_tuples_returned(to_regclass('rowrun.task_run_available')), 0), clock_timestamp()
