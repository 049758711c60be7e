-- end_making
-- Records what an act has made, which is all that it was to do.
-- $1 bigint: act
-- $2 bigint: the run, task or plan
-- Returns: no row
UPDATE rowrun.act SET state = 'DONE', position = 1, done = 1, made = ARRAY[$2::bigint], runs = CASE verb WHEN 'run' THEN ARRAY[$2::bigint] ELSE '{}' END,
    ended_at = clock_timestamp()
WHERE id = $1
