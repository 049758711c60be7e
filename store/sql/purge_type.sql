-- purge_type
-- Cancels some PENDING and AVAILABLE runs of a type.
-- $1 text: type
-- $2 float8: age in seconds, since the insert
-- $3 bigint: the run behind which to look
-- $4 bigint: the last run to look at: a tick that is canceled inserts the next one of its schedule
-- $5 bigint: how many at most
-- Returns: the last run that was looked at (0: none), how many were, how many are canceled
SELECT coalesce(last_id, 0), found, canceled FROM rowrun.purge_type($1, make_interval(secs => $2), $3, (
    SELECT count(*)::integer FROM (
        SELECT FROM rowrun.task_run
        WHERE type = $1 AND status IN ('PENDING', 'AVAILABLE') AND id > $3 AND id <= $4
          AND created_at <= clock_timestamp() - make_interval(secs => $2)
        LIMIT $5) bounded))
