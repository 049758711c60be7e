-- record_orphans
-- Looks for types of runs that wait and that no live replica could run, and has the stream say what changed.
-- $1 float8: after how many seconds of waiting such runs count
-- $2 float8: for how many seconds nobody looks again
-- Returns: how many notes were written
SELECT rowrun.record_orphans(make_interval(secs => $1), make_interval(secs => $2))
