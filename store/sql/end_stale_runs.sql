-- end_stale_runs
-- Ends runs whose replica is dead.
-- $1 bigint[]: runs
-- $2 text: the detail
-- $3 text: what may follow: NONE, FAILURE or STALE
-- Returns: run, its status, its successor (NULL: none)
SELECT e.run_id, e.status, e.retry_run_id
FROM rowrun.end_runs($1::bigint[], array_fill(NULL::uuid, ARRAY[cardinality($1::bigint[])]),
    array_fill('FAILED'::text, ARRAY[cardinality($1::bigint[])]),
    array_fill(jsonb_build_object('code', 'STALE', 'detail', $2::text), ARRAY[cardinality($1::bigint[])]),
    array_fill($3::text, ARRAY[cardinality($1::bigint[])])) e
