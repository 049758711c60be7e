-- define_task
-- Makes a task without a plan, or brings it up to date. NULL is the column's default.
-- $1 text: name
-- $2 text: type
-- $3 jsonb: payload
-- $4 text: queue
-- $5 text: target database
-- $6 text: version
-- $7 boolean: sequential
-- $8 integer: priority
-- $9 float8: timeout in seconds
-- $10 float8: progress_timeout in seconds
-- $11 integer: max_attempts
-- $12 float8: retry_delay in seconds
-- $13 text: on_stale
-- $14 jsonb: labels
-- Returns: its id
SELECT rowrun.define_task($1, $2, $3, $4, $5, $6, $7, $8, make_interval(secs => $9), make_interval(secs => $10), $11,
                          make_interval(secs => $12), $13, $14)
