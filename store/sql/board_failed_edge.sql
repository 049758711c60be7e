-- board_failed_edge
-- Where the look of board_failed_runs ended.
-- $1 bigint: the end of the run behind which it began, in microseconds since 1970; NULL: at the first
-- $2 bigint: that run
-- $3 bigint: how many it looked at
-- Returns: no row, or the end of the last of these in microseconds since 1970, its id, its end
SELECT (extract(epoch FROM f.finished_at) * 1000000)::bigint, f.id, f.finished_at
FROM rowrun.task_run f
WHERE f.status = 'FAILED' AND f.retry_run_id IS NULL
  AND ($1::bigint IS NULL OR f.finished_at <= '1970-01-01 00:00+00'::timestamptz + $1 * interval '1 microsecond'
       AND (f.finished_at, f.id) < ('1970-01-01 00:00+00'::timestamptz + $1 * interval '1 microsecond', $2::bigint))
ORDER BY f.finished_at DESC, f.id DESC OFFSET $3::bigint - 1 LIMIT 1
