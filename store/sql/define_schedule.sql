-- define_schedule
-- Says when a task recurs. NULL keeps what there is; what is as it was is not written.
-- $1 bigint: task
-- $2 text: schedule
-- $3 text: time zone
-- $4 text: misfire
-- $5 text: overlap
-- $6 float8: spread in s
-- Returns: no row
UPDATE rowrun.task k
SET schedule = coalesce($2, k.schedule), time_zone = coalesce($3, k.time_zone), misfire = coalesce($4, k.misfire), overlap = coalesce($5, k.overlap),
    spread = coalesce(make_interval(secs => $6), k.spread)
WHERE k.id = $1
  AND (k.schedule, k.time_zone, k.misfire, k.overlap, k.spread)
      IS DISTINCT FROM (coalesce($2, k.schedule), coalesce($3, k.time_zone), coalesce($4, k.misfire), coalesce($5, k.overlap),
                        coalesce(make_interval(secs => $6), k.spread))
