-- worker_finish
-- A worker's results, for those who ask over HTTP.
-- $1 uuid: the request
-- $2 text: the worker's name
-- $3 jsonb: results
-- $4 text[]: types that it claims next
-- $5 integer: how many of them
-- $6 interval: their lease; NULL: the default
-- Returns: what became of the results, and what was claimed, as JSON
SELECT rowrun.finish_runs($1, $2, $3, $4, $5, $6)
