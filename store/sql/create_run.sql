-- create_run
-- Inserts a run of a task, or finds the one that has the key.
-- $1 bigint: task
-- $2 jsonb: input
-- $3 timestamptz: not before this moment; NULL: see $4
-- $4 float8: so many seconds from now
-- $5 integer: priority; NULL: the task's
-- $6 text: idempotency key; NULL: none
-- Returns: its id
SELECT rowrun.run_task($1::bigint, $2, coalesce($3, now() + make_interval(secs => $4)), $5, $6)
