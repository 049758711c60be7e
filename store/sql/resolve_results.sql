-- resolve_results
-- Puts the results of tasks that a plan's task depends on in place of what its payload names of them.
-- $1 bigint: the task
-- $2 jsonb: its payload
-- Returns: the payload, or why there is none
SELECT r.whole, r.problem FROM rowrun.with_results($1, $2) r
